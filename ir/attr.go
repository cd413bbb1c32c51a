package ir

import (
	"math"
	"sort"
	"strconv"
	"strings"
)

// Attr is one named constant of an operation, argument, result, function or
// [Term].
type Attr struct {
	Key string
	Val AttrVal
}

// AttrVal is the value of an [Attr]: one of the types below. String is its
// text in the IR.
type AttrVal interface {
	String() string
	attrVal()
}

type (
	// Int is written 12.
	Int int64
	// Float is written with a point or an exponent, or inf, -inf, nan: 0.5.
	Float float64
	// BoolVal is written true or false.
	BoolVal bool
	// Str is written quoted, as Go quotes.
	Str string
	// Name is a bare identifier: uniform, f32.
	Name string
	// Names is written (a, b).
	Names []string
	// Ints is written [1, 2].
	Ints []int64
	// Sizes is written {seq=4, embed=8}: ordered axes with sizes.
	Sizes []SizeOf
	// Pairs is written {seq:kseq}: ordered renamings.
	Pairs []Pair
	// Sym is the name of a function of the module, written @name.
	Sym string
	// Terms is written [head(k=v), ...]; the empty one is [()] .
	Terms []Term
)

// SizeOf is one element of [Sizes].
type SizeOf struct {
	Name string
	N    int
}

// Pair is one element of [Pairs].
type Pair struct{ From, To string }

// Term is a head with named arguments, written normal(std=0.02). It is an
// [AttrVal], and the form of a module's metadata.
type Term struct {
	Head string
	Args Attrs
}

func (Int) attrVal()     {}
func (Float) attrVal()   {}
func (BoolVal) attrVal() {}
func (Str) attrVal()     {}
func (Name) attrVal()    {}
func (Names) attrVal()   {}
func (Ints) attrVal()    {}
func (Sizes) attrVal()   {}
func (Pairs) attrVal()   {}
func (Sym) attrVal()     {}
func (Terms) attrVal()   {}
func (Term) attrVal()    {}

func (v Int) String() string     { return strconv.FormatInt(int64(v), 10) }
func (v Float) String() string   { return formatFloat(float64(v)) }
func (v BoolVal) String() string { return strconv.FormatBool(bool(v)) }
func (v Str) String() string     { return strconv.Quote(string(v)) }
func (v Name) String() string    { return string(v) }
func (v Names) String() string   { return "(" + strings.Join(v, ", ") + ")" }
func (v Sym) String() string     { return "@" + string(v) }
func (v Term) String() string {
	s := make([]string, len(v.Args))
	for i, a := range v.Args {
		s[i] = a.Key + "=" + a.Val.String()
	}
	return v.Head + "(" + strings.Join(s, ", ") + ")"
}
func (v Sizes) String() string {
	s := make([]string, len(v))
	for i, a := range v {
		s[i] = a.Name + "=" + strconv.Itoa(a.N)
	}
	return "{" + strings.Join(s, ", ") + "}"
}
func (v Pairs) String() string {
	if len(v) == 0 {
		return "{:}"
	}
	s := make([]string, len(v))
	for i, a := range v {
		s[i] = a.From + ":" + a.To
	}
	return "{" + strings.Join(s, ", ") + "}"
}
func (v Terms) String() string {
	if len(v) == 0 {
		return "[()]"
	}
	s := make([]string, len(v))
	for i, t := range v {
		s[i] = t.String()
	}
	return "[" + strings.Join(s, ", ") + "]"
}

// formatFloat is the shortest text that reads back as the same float64 and
// cannot be taken for an integer.
func formatFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// Attrs is a set of attributes sorted by key. The zero value is empty.
type Attrs []Attr

// A builds sorted attributes from key, value pairs: A("over", Names{"k"}).
func A(kv ...any) Attrs {
	var as Attrs
	for i := 0; i+1 < len(kv); i += 2 {
		as = as.With(kv[i].(string), kv[i+1].(AttrVal))
	}
	return as
}

// Get is the value under key, or nil.
func (as Attrs) Get(key string) AttrVal {
	for _, a := range as {
		if a.Key == key {
			return a.Val
		}
	}
	return nil
}

// Has reports whether key is set.
func (as Attrs) Has(key string) bool { return as.Get(key) != nil }

// With is a copy of as with key set to v; a nil v removes the key.
func (as Attrs) With(key string, v AttrVal) Attrs {
	out := make(Attrs, 0, len(as)+1)
	for _, a := range as {
		if a.Key != key {
			out = append(out, a)
		}
	}
	if v != nil {
		out = append(out, Attr{key, v})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Key < out[j].Key })
	return out
}

// Int is the integer under key, or def.
func (as Attrs) Int(key string, def int64) int64 {
	if v, ok := as.Get(key).(Int); ok {
		return int64(v)
	}
	return def
}

// Float is the number under key (an integer counts), or def.
func (as Attrs) Float(key string, def float64) float64 {
	switch v := as.Get(key).(type) {
	case Float:
		return float64(v)
	case Int:
		return float64(v)
	}
	return def
}

// Bool is the truth value under key, or false.
func (as Attrs) Bool(key string) bool { v, _ := as.Get(key).(BoolVal); return bool(v) }

// Text is the string, name or symbol under key, or empty.
func (as Attrs) Text(key string) string {
	switch v := as.Get(key).(type) {
	case Str:
		return string(v)
	case Name:
		return string(v)
	case Sym:
		return string(v)
	}
	return ""
}

// Names is the list of names under key, or nil.
func (as Attrs) Names(key string) []string { v, _ := as.Get(key).(Names); return v }

// Ints is the list of integers under key, or nil.
func (as Attrs) Ints(key string) []int64 { v, _ := as.Get(key).(Ints); return v }

// Sizes is the list of sized axes under key, or nil.
func (as Attrs) Sizes(key string) []SizeOf { v, _ := as.Get(key).(Sizes); return v }

// Pairs is the list of renamings under key, or nil.
func (as Attrs) Pairs(key string) []Pair { v, _ := as.Get(key).(Pairs); return v }

// Terms is the list of terms under key, or nil.
func (as Attrs) Terms(key string) []Term { v, _ := as.Get(key).(Terms); return v }

// String is the attributes as an operation's line has them: " k=v k=v".
func (as Attrs) String() string {
	var b strings.Builder
	for _, a := range as {
		b.WriteByte(' ')
		b.WriteString(a.Key)
		b.WriteByte('=')
		b.WriteString(a.Val.String())
	}
	return b.String()
}
