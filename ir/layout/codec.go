package layout

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
)

// field is a field of a rule as its term has it. Each type says once what its
// fields are, and reading, writing and renaming follow.
type field struct {
	key string
	// at points to the field: a list of names, a number, a string, or one of the
	// types below.
	at       any
	required bool
	mesh     bool     // it names mesh axes
	empty    bool     // the list is written even where it is empty
	from     []string // its words are of these; nil: any
	// least and most are the bounds of a number; most 0: none. A number out of
	// them, Unsaid or 0, is not written.
	least, most int64
}

type (
	word  string   // written bare: host
	axis  string   // one mesh axis, written as a list: (pp)
	paths []string // written as one string: "blocks.*.attn, Block"
)

func (f field) holds(n int64) bool { return n >= f.least && (f.most == 0 || n <= f.most) }

// known is whether the words are those that the field takes.
func (f field) known(words ...string) bool {
	return f.from == nil || !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(f.from, w) })
}

// write is the field's value; nil where it says nothing.
func (f field) write() ir.AttrVal {
	switch v := f.at.(type) {
	case *[]string:
		if len(*v) > 0 || f.empty {
			return append(ir.Names{}, *v...)
		}
	case *paths:
		if len(*v) > 0 {
			return ir.Str(strings.Join(*v, ", "))
		}
	case *axis:
		if *v != "" {
			return ir.Names{string(*v)}
		}
	case *word:
		if *v != "" {
			return ir.Name(*v)
		}
	case *string:
		if *v != "" {
			return ir.Str(*v)
		}
	case *int:
		if f.holds(int64(*v)) {
			return ir.Int(*v)
		}
	case *int64:
		if f.holds(*v) {
			return ir.Int(*v)
		}
	case *[]int:
		var out ir.Ints
		for _, n := range *v {
			out = append(out, int64(n))
		}
		if len(out) > 0 {
			return out
		}
	case *ir.DType:
		return ir.Name(v.String())
	case *Scale:
		return writeScale(*v)
	}
	return nil
}

// read sets the field, and is false for a value that it does not take.
func (f field) read(x ir.AttrVal) bool {
	switch v := f.at.(type) {
	case *[]string:
		names, ok := x.(ir.Names)
		if *v = nil; len(names) > 0 || f.empty {
			*v = append([]string{}, names...)
		}
		return ok && f.known(names...) && !(f.required && len(names) == 0)
	case *paths:
		s, ok := x.(ir.Str)
		*v = slices.DeleteFunc(split(string(s)), func(p string) bool { return p == "" })
		return ok
	case *axis:
		if names, ok := x.(ir.Names); ok && len(names) == 1 {
			*v = axis(names[0])
			return true
		}
	case *word:
		*v = word(said(x))
		return *v != "" && f.known(string(*v))
	case *string:
		*v = said(x)
		return *v != "" && f.known(*v)
	case *int:
		n, ok := x.(ir.Int)
		*v = int(n)
		return ok && f.holds(int64(n))
	case *int64:
		n, ok := x.(ir.Int)
		*v = int64(n)
		return ok && f.holds(*v)
	case *[]int:
		ns, ok := x.(ir.Ints)
		*v = nil
		for _, n := range ns {
			*v = append(*v, int(n))
			ok = ok && f.holds(n)
		}
		return ok
	case *ir.DType:
		d, ok := ir.ParseDType(said(x))
		if ok = ok && f.known(d.String()); ok {
			*v = d
		}
		return ok
	case *Scale:
		var ok bool
		*v, ok = readScale(x)
		return ok
	}
	return false
}

// said is a string or name.
func said(v ir.AttrVal) string {
	switch v := v.(type) {
	case ir.Str:
		return string(v)
	case ir.Name:
		return string(v)
	}
	return ""
}

// want says what the field takes.
func (f field) want() string {
	switch f.at.(type) {
	case *[]string:
		if f.from != nil {
			return "a list of " + strings.Join(f.from, ", ")
		}
		return "a list of names: (a, b)"
	case *paths:
		return "paths, separated by commas: \"blocks.*.attn, Block\""
	case *axis:
		return "one mesh axis: (a)"
	case *int, *int64:
		if f.most > 0 {
			return fmt.Sprintf("a whole number from %d to %d", f.least, f.most)
		}
		return fmt.Sprintf("a whole number from %d", f.least)
	case *[]int:
		return "numbers from 1 on: [2, 1]"
	}
	if f.from != nil {
		return diag.OneOf(f.from)
	}
	return "a string"
}

// wrong is the error for a value that the field does not take.
func (f field) wrong(x ir.AttrVal) *diag.Error {
	switch f.at.(type) {
	case *ir.DType:
		name := said(x)
		if d, ok := ir.ParseDType(name); ok && d.IsFloat() {
			return &diag.Error{Code: "E0605", Msg: fmt.Sprintf("`%s = %s` is not available", f.key, d), Want: diag.OneOf(f.from)}
		}
		return &diag.Error{Code: "E0604", Msg: fmt.Sprintf("`%s` is not a float dtype", name), Want: diag.OneOf(f.from), Hint: diag.DidYouMean(name, f.from)}
	case *Scale:
		return &diag.Error{Code: "E0604", Msg: fmt.Sprintf("the loss cannot be scaled by `%s`", x), Want: "`dynamic`, or a number from 2^-126 to 2^126"}
	}
	return &diag.Error{Code: code, Msg: fmt.Sprintf("`%s` is %s", f.key, x), Want: f.want()}
}

// Encode is the term of a rule.
func Encode(r Rule) ir.Term {
	var t ir.Term
	for _, row := range Table {
		if row.New != nil && reflect.TypeOf(row.New()) == reflect.TypeOf(r) {
			t.Head = row.Word
		}
	}
	if at := r.Where(); at != "" {
		t.Args = t.Args.With("at", ir.Str(at))
	}
	for _, f := range r.fields() {
		if v := f.write(); v != nil {
			t.Args = t.Args.With(f.key, v)
		}
	}
	return t
}

// decode is the rule that the term of a row says, or the first thing that is wrong
// with it.
func decode(t ir.Term) (Rule, *diag.Error) {
	row := RowOf(t.Head)
	r, keys := row.New(), []string(nil)
	pos := diag.ParsePos(t.Args.Text("at"))
	fail := func(e *diag.Error) (Rule, *diag.Error) {
		e.Pos, e.Msg = pos, row.Word+": "+e.Msg
		if e.Hint == "" && e.Code == code {
			e.Hint = "the pass `" + row.Passes[0] + "` acts on it"
		}
		return r, e
	}
	if at := t.Args.Get("at"); at != nil && !pos.IsValid() {
		return fail(&diag.Error{Code: code, Msg: "`at` is " + at.String(), Want: "a place such as \"model.ptl:9:3\""})
	}
	r.Place(pos)
	for _, f := range r.fields() {
		keys = append(keys, f.key)
		if x := t.Args.Get(f.key); x == nil && f.required && f.write() == nil {
			return fail(&diag.Error{Code: code, Msg: "there is no `" + f.key + "`", Want: f.want()})
		} else if x != nil && !f.read(x) {
			return fail(f.wrong(x))
		}
	}
	slices.Sort(keys)
	for _, a := range t.Args {
		if a.Key != "at" && !slices.Contains(keys, a.Key) {
			e := &diag.Error{Code: code, Msg: "unknown setting `" + a.Key + "`", Want: diag.OneOf(keys), Hint: diag.DidYouMean(a.Key, keys)}
			if row.Form == InMeta {
				e.Code = "E0604" // older than E0321
			}
			return fail(e)
		}
	}
	return r, nil
}

// Over are the mesh axes that a rule names, the first one outermost.
func Over(r Rule) []string {
	for _, f := range r.fields() {
		switch v := f.at.(type) {
		case *[]string:
			if f.mesh {
				return *v
			}
		case *axis:
			return []string{string(*v)}
		}
	}
	return nil
}
