package keymap

import (
	"slices"

	"ptc/internal/diag"
	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Map is a block of names, resolved.
type Map struct {
	Family       string   // model_type of the other program
	Format       string   // one of Formats
	Architecture string   // what the other program calls the model
	Prefix       string   // of names, which a file may lack
	Refuse       string   // what of this model the format cannot say
	PlusOne      string   // tensors whose name ends so have elements that are 1 more there
	Skip         []string // names that a file may have, with open numbers: h.{i}.bias
	Tensors      []Tensor
	Keys         []Key
}

// Tensor is one tensor of the other program: its pieces, one after the other along
// dimension Over.
type Tensor struct {
	Name   string
	Over   int
	Pieces []Piece
}

// Piece is a part of a parameter: the slice from From with so many elements on each
// axis, seen as the sizes View, whose order in the tensor is Order, and whose shape
// there is Shape; all row-major.
type Piece struct {
	Param        string
	From, Extent []int64
	View         []int64
	Order        []int64
	Shape        []int64
}

// Key is a key of the other program's config, with the value that it has for this
// model, as JSON. One that is Default may be missing and is not written.
type Key struct {
	Names   []string
	Value   string
	Default bool
}

// Formats are the formats of files that a block can be of.
var Formats = []string{"gguf", "hf"}

// lowerer resolves one block.
type lowerer struct {
	*eval.Frame
	params map[string]*value.Param
	absent map[string]*value.Param
	order  []*value.Param
	block  *syntax.Names
	out    *Map
	rows   map[string]syntax.Node // by tensor
	used   map[string][]held      // by parameter
}

// held is a piece of a parameter, with the row that has it.
type held struct {
	Piece
	at syntax.Node
}

// Lower resolves the blocks of a file for the model that in has made.
func Lower(in *eval.Interp, home *source.File) []Map {
	var out []Map
	if home == nil || home.Tree == nil {
		return nil
	}
	seen := map[string]*syntax.Names{}
	for _, d := range home.Tree.Decls {
		n, ok := d.(*syntax.Names)
		if !ok {
			continue
		}
		l := &lowerer{Frame: in.NewFrame(home), block: n, out: &Map{Family: n.Family.Name},
			params: map[string]*value.Param{}, absent: map[string]*value.Param{}, order: own(in.Model.Params),
			rows: map[string]syntax.Node{}, used: map[string][]held{}}
		for _, p := range l.order {
			l.params[p.Path] = p
		}
		for _, p := range in.Model.Absent() {
			l.absent[p.Path] = p
		}
		l.lower()
		key := l.out.Format + " " + l.out.Family
		if old := seen[key]; old != nil {
			in.Errs.Add(source.Twice(n.Family, old))
		}
		seen[key] = n
		out = append(out, *l.out)
	}
	return out
}

// own are the parameters that the model declares: no other program has the adapters that
// training adds.
func own(ps []*value.Param) []*value.Param {
	return slices.DeleteFunc(slices.Clone(ps), func(p *value.Param) bool { return p.Adapts != nil })
}

func (l *lowerer) lower() {
	l.out.Format = "hf"
	for _, x := range l.block.Items {
		switch x := x.(type) {
		case *syntax.Entry:
			l.entry(x)
		case *syntax.SkipRow:
			l.out.Skip = append(l.out.Skip, string(x.Tensor))
		case *syntax.KeyRows:
			for _, r := range x.Rows {
				l.key(r)
			}
		}
	}
	if l.out.Architecture == "" {
		l.Wants("E0710", l.block.Family, "`architecture = \"LlamaForCausalLM\"` or the like", "", "`names %s` does not name the architecture of the model", l.block.Family.Name)
	}
	for _, x := range l.block.Items {
		if r, ok := x.(*syntax.TensorRow); ok {
			l.row(r)
		}
	}
	l.complete()
}

// entry is what a block says once.
func (l *lowerer) entry(x *syntax.Entry) {
	switch x.Key.Name {
	case "format":
		w, ok := x.Value.(*syntax.Name)
		for _, f := range Formats {
			if ok && w.Name == f {
				l.out.Format = f
				return
			}
		}
		l.Wants("E0710", x.Value, diag.OneOf(Formats), "", "not a format of files")
	case "architecture":
		l.out.Architecture = l.text(x)
	case "refuse":
		l.out.Refuse = l.text(x)
	case "prefix":
		l.out.Prefix = l.text(x)
	case "plus_one":
		if l.out.PlusOne = l.text(x); l.out.Format != "gguf" {
			l.Wants("E0710", x.Key, "`format = gguf` before it", "", "only GGUF files have elements that are 1 more")
		}
	default:
		known := []string{"architecture", "format", "plus_one", "prefix", "refuse"}
		l.Wants("E0710", x.Key, diag.OneOf(known), diag.DidYouMean(x.Key.Name, known), "`names` has no entry `%s`", x.Key.Name)
	}
}

func (l *lowerer) text(x *syntax.Entry) string {
	v := l.Expr(x.Value)
	t, ok := v.(value.Text)
	if !ok {
		l.NotA(x.Value, v, "a string")
	}
	return string(t)
}

// complete reports what is in no row.
func (l *lowerer) complete() {
	if len(l.Interp.Errs.List) > 0 {
		return
	}
	for _, p := range l.order {
		if len(l.used[p.Path]) == 0 {
			l.Interp.Errs.Add(source.Conflict("E0715", l.block.Family, p.Pos, "the parameter", "`\"name there\" = "+value.Starred(p.Path)+"`, with an open number, `{i}`, for each `*`", "",
				"`names %s` has no row for the parameter `%s`", l.block.Family.Name, p.Path))
			return // one is enough to find the others
		}
		l.covered(p)
	}
}

// covered reports a parameter that is in two rows. A row has every position of the axes
// in its brackets, so that its pieces are the whole parameter.
func (l *lowerer) covered(p *value.Param) {
	pieces, total := l.used[p.Path], int64(0)
	for _, h := range pieces {
		n := int64(1)
		for _, e := range h.Extent {
			n *= e
		}
		if total += n; total > int64(p.Type.Elems()) {
			l.Interp.Errs.Add(source.Conflict("E0716", h.at, pieces[0].at.At(), "the other one", "", "", "the parameter `%s` is in two rows", p.Path))
			return
		}
	}
}
