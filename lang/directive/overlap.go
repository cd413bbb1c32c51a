package directive

import (
	"slices"

	"ptc/internal/diag"
	"ptc/ir/layout"
	"ptc/lang/syntax"
)

// Overlap is `overlap all_gather, reduce_scatter { options }`, or `overlap none`.
type Overlap struct {
	line
	What    []*syntax.Ident `parser:"'overlap' @@ ( ',' @@ )*"`
	Options *syntax.Options `parser:"@@?"`
}

var _ = define(Form{Word: "overlap", Node: &Overlap{}, Choices: layout.Collectives, Clauses: []string{"on", "none"}})

// read lists the collectives that may run concurrently with computation; `none` leaves
// an empty list.
func (d *Overlap) read(r *reading) {
	r.single(d, "overlap")
	r.options(d.Options, nil)
	none := slices.IndexFunc(d.What, func(id *syntax.Ident) bool { return id.Name == "none" })
	if none < 0 {
		r.add(d, d, &layout.Overlap{Collectives: r.collectives(d.What)})
		return
	}
	if len(d.What) > 1 {
		r.f.Wants("E0417", d.What[none], "`overlap none`, or only collectives", "", "`none` in a list of collectives")
	}
	r.add(d, d, &layout.Overlap{})
}

func (r *reading) collectives(ids []*syntax.Ident) []string {
	var out []string
	for _, id := range ids {
		if !slices.Contains(layout.Collectives, id.Name) {
			r.f.Wants("E0417", id, diag.OneOf(layout.Collectives), diag.DidYouMean(id.Name, layout.Collectives), "unknown collective `%s`", id.Name)
			continue
		}
		out = append(out, id.Name)
	}
	return out
}

func (d *Overlap) check(c *checking) {
	if c.mod.Devices() == 1 {
		c.noEffect(d, "overlap", "one device has no collectives")
	}
}

// excludes is the `overlap` directive that keeps a collective from running concurrently with
// computation, or nil.
func excludes(y *syntax.Layout, collective string) *Overlap {
	for _, d := range of[*Overlap](y) {
		if !slices.ContainsFunc(d.What, func(id *syntax.Ident) bool { return id.Name == collective }) {
			return d
		}
	}
	return nil
}
