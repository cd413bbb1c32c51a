package directive

import (
	"slices"

	"ptc/internal/diag"
	"ptc/ir/layout"
	"ptc/lang/syntax"
)

// Offload is `offload optimizer to host`; `of path` limits it to the modules
// that the path selects.
type Offload struct {
	line
	What    []*syntax.Path  `parser:"'offload' @@ ( ',' @@ )*"`
	Of      []*syntax.Path  `parser:"( 'of' @@ ( ',' @@ )* )?"`
	To      *syntax.Ident   `parser:"'to' @@"`
	Options *syntax.Options `parser:"@@?"`
}

var _ = define(Form{Word: "offload", Node: &Offload{}, Choices: layout.Offloaded, Clauses: []string{"of", "to"}, Keys: []Key{{Name: "piece"}}})

// read moves kinds of tensors out of device memory: of the modules named,
// or all.
func (d *Offload) read(r *reading) {
	kinds, places := layout.Offloaded, layout.Memories
	var what []string
	for _, p := range d.What {
		k := p.String()
		switch {
		case !slices.Contains(kinds, k):
			r.f.Wants("E0418", p, diag.OneOf(kinds), diag.DidYouMean(k, kinds), "`%s` cannot be offloaded", p)
			continue
		case len(d.Of) > 0 && k != "activations":
			r.f.Wants("E0418", d.Of[0], "`offload "+k+" to "+d.To.Name+"`: all of it", "", "only activations can be offloaded for some modules")
		}
		r.single(p, "offload "+k)
		what = append(what, k)
	}
	if !slices.Contains(places, d.To.Name) {
		r.f.Wants("E0418", d.To, diag.OneOf(places), diag.DidYouMean(d.To.Name, places), "unknown memory `%s`", d.To.Name)
	}
	r.modulesOf(d.Of, "offloaded")
	l := &layout.Offload{What: what, Of: r.model.patterns(d.Of), To: d.To.Name}
	r.options(d.Options, map[string]func(syntax.Expr){"piece": func(x syntax.Expr) {
		n, ok := r.bytes(x, "E0418", "the size of a piece", "4 MiB", 1)
		if ok && len(what) > 0 && !slices.Contains(what, "optimizer") {
			r.f.Wants("E0418", x, "`offload optimizer`, whose states are copied in pieces", "", "activations are not split into pieces")
		} else if ok {
			l.Piece = int64(n)
		}
	}})
	r.add(d, d, l)
}
