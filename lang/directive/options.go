package directive

import (
	"slices"
	"sort"
	"strings"

	"ptc/internal/diag"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// options reads `{ key = expr … }` with the readers of the known keys, and
// reports the others.
func (y *Layout) options(o *syntax.Options, readers map[string]func(syntax.Expr)) {
	if o == nil {
		return
	}
	var known []string
	for k := range readers {
		known = append(known, k)
	}
	sort.Strings(known)
	seen := map[string]syntax.Node{}
	for _, e := range o.Entries {
		k := e.Key.Name
		switch {
		case seen[k] != nil:
			y.in.Errs.Add(source.Twice(e.Key, seen[k]))
		case readers[k] == nil:
			want := diag.OneOf(known)
			if len(known) == 0 {
				want = "no options"
			}
			y.f.Wants("E0415", e.Key, want, diag.DidYouMean(k, known), "unknown option `%s`", k)
		default:
			readers[k](e.Value)
		}
		seen[k] = e.Key
	}
}

// word is the plain word that an option must be: 1f1b, bf16, attn.
func (y *Layout) word(x syntax.Expr) (string, bool) {
	switch x := x.(type) {
	case *syntax.Name:
		return x.Name, true
	case *syntax.String:
		return x.Value, true
	}
	y.f.Wants("E0415", x, "a word", "", "the option is an expression")
	return "", false
}

// words is one word or a list of them.
func (y *Layout) words(x syntax.Expr) []string {
	var xs []syntax.Expr
	switch x := x.(type) {
	case *syntax.List:
		xs = x.Elems
	case *syntax.Tuple:
		xs = x.Elems
	default:
		xs = []syntax.Expr{x}
	}
	var out []string
	for _, e := range xs {
		if w, ok := y.word(e); ok {
			out = append(out, w)
		}
	}
	return out
}

// paths is one path of modules or a list of them: a word, or a string where the path has
// points.
func (y *Layout) paths(x syntax.Expr) []*syntax.Path {
	xs := []syntax.Expr{x}
	if l, ok := x.(*syntax.List); ok {
		xs = l.Elems
	}
	var out []*syntax.Path
	for _, e := range xs {
		w, ok := y.word(e)
		if !ok {
			continue
		}
		p := &syntax.Path{Parts: strings.Split(w, ".")}
		switch e := e.(type) {
		case *syntax.Name:
			p.Span = e.Span
		case *syntax.String:
			p.Span = e.Span
		}
		if slices.Contains(p.Parts, "") {
			y.f.Wants("E0412", e, "a module such as `Block`, or the path of one, \"blocks.*.mlp\"", "", "`%s` is not a path", value.Clip(w))
			continue
		}
		out = append(out, p)
	}
	return out
}

// count is an option that must be a number from lo to hi.
func (y *Layout) count(x syntax.Expr, code, what string, lo, hi int) (int, bool) {
	c, ok := y.f.Number(x)
	if !ok {
		return 0, false
	}
	n, ok := c.Int()
	if !ok || n < lo || n > hi {
		y.f.Wants(code, x, "a whole number from "+value.FormatNumber(value.Whole(lo))+" to "+value.FormatNumber(value.Whole(hi)), "", "%s is %s", what, value.FormatNumber(c))
		return 0, false
	}
	return n, true
}

// bytes is an option that must be a size of at least lo bytes, such as the
// example.
func (y *Layout) bytes(x syntax.Expr, code, what, example string, lo int) (int, bool) {
	c, ok := y.f.Number(x)
	if !ok {
		return 0, false
	}
	if !(c.V >= float64(lo) && c.V <= 1<<53) || !value.WholeBytes(c.V) {
		want := "a size such as `" + example + "`, in whole bytes"
		if lo == 0 {
			want += ", or 0"
		}
		y.f.Wants(code, x, want, "", "%s is %s", what, value.FormatNumber(c))
		return 0, false
	}
	return int(c.V), true
}
