package layout

import (
	"slices"
	"strings"

	"ptc/ir"
)

// codec goes over the fields of a rule, each with its key: to read them from a
// term, to write one, or to change the mesh axes that they name. So each type says
// once what its term is.
type codec interface {
	// names is a list: (a, b).
	names(key string, v *[]string, l list)
	// mesh is a list of mesh axes, and axis a list of one.
	mesh(key string, v *[]string, l list)
	axis(key string, v *string)
	// paths is a list as one string: "blocks.*.attn, Block".
	paths(key string, v *[]string)
	// word is one word of a list; empty where nothing is said.
	word(key string, v *string, l list)
	// text is a string, which must be there.
	text(key string, v *string)
	integer(key string, v int64, s span) int64
	// counts is a list of numbers from 1 on.
	counts(key string, v *[]int)
	dtype(key string, v *ir.DType, from []ir.DType)
	scale(key string, v *Scale)
}

// list is what a list of words or a word may be.
type list struct {
	some   bool     // not empty
	always bool     // written even if it is empty
	from   []string // its words are of these; nil: any
}

// span is what a number may be: least to most, or, where it is optional, unsaid.
type span struct {
	least, most int64 // most 0: no bound
	optional    bool
	unsaid      int64
}

func (s span) holds(n int64) bool { return n >= s.least && (s.most == 0 || n <= s.most) }

func number[T int | int64](c codec, key string, v *T, s span) {
	*v = T(c.integer(key, int64(*v), s))
}

// Encode is the term of a rule.
func Encode(r Rule) ir.Term {
	w := &writer{}
	for _, row := range Table {
		if row.New != nil && sameType(row.New(), r) {
			w.term.Head = row.Word
		}
	}
	if at := r.Where(); at != "" {
		w.put("at", ir.Str(at))
	}
	r.fields(w)
	return w.term
}

// writer makes a term.
type writer struct{ term ir.Term }

func (w *writer) put(key string, v ir.AttrVal) { w.term.Args = w.term.Args.With(key, v) }

func (w *writer) names(key string, v *[]string, l list) {
	if len(*v) > 0 || l.always {
		w.put(key, append(ir.Names{}, *v...))
	}
}
func (w *writer) mesh(key string, v *[]string, l list) { w.names(key, v, l) }
func (w *writer) axis(key string, v *string)           { w.put(key, ir.Names{*v}) }
func (w *writer) paths(key string, v *[]string) {
	if len(*v) > 0 {
		w.put(key, ir.Str(strings.Join(*v, ", ")))
	}
}
func (w *writer) word(key string, v *string, _ list) {
	if *v != "" {
		w.put(key, ir.Name(*v))
	}
}
func (w *writer) text(key string, v *string) { w.put(key, ir.Str(*v)) }
func (w *writer) integer(key string, v int64, s span) int64 {
	if !s.optional || v != s.unsaid {
		w.put(key, ir.Int(v))
	}
	return v
}
func (w *writer) counts(key string, v *[]int) {
	var out ir.Ints
	for _, n := range *v {
		out = append(out, int64(n))
	}
	if len(out) > 0 {
		w.put(key, out)
	}
}
func (w *writer) dtype(key string, v *ir.DType, _ []ir.DType) { w.put(key, ir.Name(v.String())) }
func (w *writer) scale(key string, v *Scale)                  { w.put(key, writeScale(*v)) }

// ignore is a codec that passes over every field; others embed it.
type ignore struct{}

func (ignore) names(string, *[]string, list)           {}
func (ignore) mesh(string, *[]string, list)            {}
func (ignore) axis(string, *string)                    {}
func (ignore) paths(string, *[]string)                 {}
func (ignore) word(string, *string, list)              {}
func (ignore) text(string, *string)                    {}
func (ignore) integer(_ string, v int64, _ span) int64 { return v }
func (ignore) counts(string, *[]int)                   {}
func (ignore) dtype(string, *ir.DType, []ir.DType)     {}
func (ignore) scale(string, *Scale)                    {}

// over collects the mesh axes of a rule.
type over struct {
	ignore
	axes []string
}

func (o *over) mesh(_ string, v *[]string, _ list) { o.axes = append(o.axes, *v...) }
func (o *over) axis(_ string, v *string)           { o.axes = append(o.axes, *v) }

// Over are the mesh axes that a rule names, the first one outermost.
func Over(r Rule) []string {
	o := &over{}
	r.fields(o)
	return o.axes
}

// renamer writes a mesh axis as others.
type renamer struct {
	ignore
	old string
	by  []string
}

func (n *renamer) mesh(_ string, v *[]string, _ list) {
	if i := slices.Index(*v, n.old); i >= 0 {
		*v = slices.Replace(slices.Clone(*v), i, i+1, n.by...)
	}
}

// axis takes one name: the devices of a pipeline are not split.
func (n *renamer) axis(_ string, v *string) {
	if *v == n.old && len(n.by) == 1 {
		*v = n.by[0]
	}
}

// Rename writes a mesh axis as a list of others in every rule of m's metadata that
// names it; the mesh itself is the caller's.
func Rename(m *ir.Module, axis string, by ...string) {
	t := m.MetaTerm("layout")
	if t == nil {
		return
	}
	rules := ir.Terms(slices.Clone(t.Args.Terms("rules")))
	for i, x := range rules {
		r, err := decode(x)
		if err == nil && slices.Contains(Over(r), axis) {
			r.fields(&renamer{old: axis, by: by})
			rules[i] = Encode(r)
		}
	}
	m.SetMeta(ir.Term{Head: t.Head, Args: t.Args.With("rules", rules)})
}
