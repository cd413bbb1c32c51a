package machine

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ptc/internal/diag"
	"ptc/internal/units"
	"ptc/lang/syntax"
)

// block is the facts of one section while they are read.
type block struct {
	*reader
	section string
	node    syntax.Node
	level   *Level
	given   map[string]*syntax.Fact // by key, and by key and its word
}

func (r *reader) block(section string, n syntax.Node, l *Level) *block {
	return &block{reader: r, section: section, node: n, level: l, given: map[string]*syntax.Fact{}}
}

// fact reads one entry.
func (b *block) fact(f *syntax.Fact) {
	if f.Kernel != nil {
		b.wants("E0802", f.Kernel, "an entry `name = value`", "keys of kernels stand in `kernels { … }`", "a kernel outside of a table of kernels")
		return
	}
	e, of := b.find(f)
	if e == nil {
		return
	}
	key := strings.TrimSpace(f.Key.Name + " " + of)
	if old := b.given[key]; old != nil {
		b.twice(f.Key, old, "`"+key+"`")
		return
	}
	b.given[key], b.given[e.Key] = f, f
	switch to := e.at(b.m, b.level).(type) {
	case *string:
		if s, ok := b.text(e, f); ok {
			*to = s
		}
	case *bool:
		if v, ok := b.flag(e, f); ok {
			*to = v
		}
	case *int:
		if v, ok := b.number(e, f); ok && b.whole(e, f, v.Value) {
			*to = int(v.Value)
		}
	case *Sourced:
		if v, ok := b.number(e, f); ok {
			*to = v
		}
	case *map[string]Sourced:
		if v, ok := b.number(e, f); ok {
			if *to == nil {
				*to = map[string]Sourced{}
			}
			(*to)[of] = v
		}
	}
}

// find is the row of a fact, and the word after its key where the row has one; nil with a mistake.
func (b *block) find(f *syntax.Fact) (e *Entry, of string) {
	if f.Of != nil {
		of = f.Of.Name
	}
	e = Find(b.section, f.Key.Name, of)
	if e != nil && (e.Words() == nil || slices.Contains(e.Words(), of)) {
		return e, of
	}
	b.unknown(f, of)
	return nil, ""
}

// unknown reports a fact without a row: the word after its key is wrong, or else the key.
func (b *block) unknown(f *syntax.Fact, of string) {
	key := f.Key.Name
	var forms, keys, words []string
	for _, e := range Entries(b.section) {
		first, second, _ := strings.Cut(e.Key, " ")
		if !slices.Contains(keys, first) {
			keys = append(keys, first)
		}
		if first != key {
			continue
		}
		b.given[e.Key] = f // what may be meant is not missing, too
		forms = append(forms, "`"+e.form()+"`")
		words = append(append(words, e.Words()...), second)
	}
	want := strings.Join(forms, " or ")
	switch {
	case len(forms) == 0:
		b.wants("E0802", f.Key, diag.OneOf(keys), diag.DidYouMean(key, keys), "`%s` is no entry of %s", key, b.name())
	case of == "":
		b.wants("E0802", f.Key, want, "", "`%s` needs a second word", key)
	default:
		b.wants("E0802", f.Of, want, diag.DidYouMean(of, words), "`%s %s` is no entry of %s", key, of, b.name())
	}
}

// form is how the entry begins: `peak f32`.
func (e Entry) form() string {
	switch e.Of {
	case ofDType:
		return e.Key + " f32"
	case ofProtocol:
		return e.Key + " simple"
	}
	return e.Key
}

// name is the block in a sentence.
func (b *block) name() string {
	if b.section == "" {
		return "a machine"
	}
	return "a " + b.section
}

// complete reports entries that are missing, at the node.
func (b *block) complete(at syntax.Node) {
	for _, e := range Entries(b.section) {
		if e.needed && b.given[e.Key] == nil {
			b.wants("E0807", at, "`"+e.form()+" = …`", lower(e.Help), "%s has no `%s`", b.title(), e.Key)
		}
	}
}

// title is the block itself in a sentence.
func (b *block) title() string {
	switch {
	case b.level != nil:
		return "level `" + b.level.Name + "`"
	case b.section == "":
		return "machine `" + b.m.Name + "`"
	}
	return "`" + b.section + "`"
}

func (b *block) text(e *Entry, f *syntax.Fact) (string, bool) {
	s, ok := f.Value.(*syntax.String)
	if !ok || strings.TrimSpace(s.Value) == "" {
		b.wants("E0804", f.Value, e.What(), "", "`%s` is not a text", e.Key)
		return "", false
	}
	return s.Value, true
}

func (b *block) flag(e *Entry, f *syntax.Fact) (value, ok bool) {
	x, ok := f.Value.(*syntax.Bool)
	if !ok {
		b.wants("E0804", f.Value, e.What(), "", "`%s` is neither true nor false", e.Key)
		return false, false
	}
	return x.Value, true
}

// number reads a number with the row's unit, range and a source.
func (r *reader) number(e *Entry, f *syntax.Fact) (Sourced, bool) {
	m, ok := f.Value.(*syntax.Measure)
	if !ok {
		r.wants("E0804", f.Value, e.What(), "", "`%s` is not a number", e.Key)
		return Sourced{}, false
	}
	x, of, per := m.SI()
	switch {
	case m.Unit == nil && e.Unit != "":
		r.wants("E0804", m, e.What(), "", "`%s` has no unit", e.Key)
		return Sourced{}, false
	case m.Unit != nil && (of != quantities[e.Unit].of || per != quantities[e.Unit].per):
		r.wants("E0804", m.Unit, e.What(), "", "`%s` has the unit `%s`", e.Key, m.Unit)
		return Sourced{}, false
	case !(x >= e.lo && x <= e.hi): // NaN too
		r.wants("E0805", m, e.bounds(), "check the number and its unit", "`%s` is out of range", e.Key)
		return Sourced{}, false
	}
	if f.Source == nil || strings.TrimSpace(string(f.Source.Text)) == "" {
		r.wants("E0803", m, "`from \"source\"` after it", "name the data sheet, the measurement or the paper, or write `from \"estimate: reason\"`", "`%s` has no source", e.Key)
		return Sourced{}, false
	}
	r.m.Sources = append(r.m.Sources, string(f.Source.Text))
	return Sourced{Value: x, Source: string(f.Source.Text)}, true
}

func (b *block) whole(e *Entry, f *syntax.Fact, x float64) bool {
	if x != math.Trunc(x) {
		b.wants("E0805", f.Value, "a whole number", "", "`%s` is not whole", e.Key)
		return false
	}
	return true
}

// bounds are the row's bounds in words.
func (e Entry) bounds() string { return amount(e.lo, e.Unit) + " to " + amount(e.hi, e.Unit) }

// amount writes a number in SI units with the unit of a row.
func amount(x float64, unit string) string {
	switch {
	case x == 0:
		return "0"
	case unit == "h":
		return fmt.Sprintf("%g h", x/hour)
	case unit == "USD/h":
		return fmt.Sprintf("%g USD/h", x*hour)
	case unit == "s" && x < 1:
		return fmt.Sprintf("%g ns", x*1e9)
	case unit == "s":
		return fmt.Sprintf("%g s", x)
	case unit == "":
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return units.Count(x, unit)
}

// lower begins a sentence within another one.
func lower(s string) string {
	return strings.ToLower(s[:1]) + strings.TrimSuffix(s[1:], ".")
}
