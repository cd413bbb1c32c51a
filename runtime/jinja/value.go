package jinja

import (
	"math"
	"slices"
)

// Value is what a variable has: nil for None, bool, int64, float64, string, *List,
// *Dict; and within a template, what only templates have.
type Value any

// shape is what Python would call a sequence; only that decides what may be done with
// it.
type shape int

const (
	list      shape = iota
	tuple           // ( )
	generator       // what select, map and others give: it can be gone through once
	view            // of a dictionary's keys, values or items
	ranged          // range( )
)

var shapeNames = [...]string{"list", "tuple", "generator", "dict_items", "range"}

// List is a sequence of values.
type List struct {
	items []Value
	shape shape
	label string // of views and ranges, how Python writes it
}

// NewList makes a list.
func NewList(items ...Value) *List { return &List{items: items} }

// Items are the values of a list, which are not to be changed.
func (l *List) Items() []Value { return l.items }

// Dict has values by keys, in the order in which the keys came.
type Dict struct {
	keys, vals []Value
	at         map[Value]int
}

// NewDict makes a dictionary of texts and their values, one after another.
func NewDict(pairs ...Value) *Dict {
	d := &Dict{at: map[Value]int{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		d.set(pairs[i], pairs[i+1], 0)
	}
	return d
}

// Get gives the value of a key, and whether there is one.
func (d *Dict) Get(key string) (Value, bool) { return d.get(key) }

// Len is the number of keys.
func (d *Dict) Len() int { return len(d.keys) }

// Pairs calls do for every key and its value, in order.
func (d *Dict) Pairs(do func(key string, value Value)) {
	for i, k := range d.keys {
		if s, ok := k.(string); ok {
			do(s, d.vals[i])
		}
	}
}

// With is a copy in which a key has another value.
func (d *Dict) With(key string, v Value) *Dict {
	out := d.copy()
	out.set(key, v, 0)
	return out
}

// Without is a copy that lacks the keys of which the value is none.
func (d *Dict) Without(none func(Value) bool) *Dict {
	out := NewDict()
	for i, k := range d.keys {
		if !none(d.vals[i]) {
			out.set(k, d.vals[i], 0)
		}
	}
	return out
}

// keyOf makes equal keys of what is equal for Python: 1, 1.0 and True.
func keyOf(k Value) (Value, bool) {
	switch k := k.(type) {
	case nil, string, int64:
		return k, true
	case bool:
		if k {
			return int64(1), true
		}
		return int64(0), true
	case float64:
		if k == math.Trunc(k) && math.Abs(k) < 1<<62 {
			return int64(k), true
		}
		return k, true
	}
	return nil, false
}

func (d *Dict) get(key Value) (Value, bool) {
	k, ok := keyOf(key)
	if !ok {
		return nil, false
	}
	i, ok := d.at[k]
	if !ok {
		return nil, false
	}
	return d.vals[i], true
}

func (d *Dict) set(key, v Value, line int) {
	k, ok := keyOf(key)
	if !ok {
		fail(line, "a %s cannot be a key here", typeName(key))
	}
	if i, ok := d.at[k]; ok {
		d.vals[i] = v
		return
	}
	d.at[k] = len(d.keys)
	d.keys, d.vals = append(d.keys, key), append(d.vals, v)
}

func (d *Dict) copy() *Dict {
	out := &Dict{keys: slices.Clone(d.keys), vals: slices.Clone(d.vals), at: make(map[Value]int, len(d.at))}
	for i, k := range d.keys {
		key, _ := keyOf(k)
		out.at[key] = i
	}
	return out
}

// huge is an integer of more than 64 bits, by its digits. It may be printed.
type huge string

// namespace has attributes that {% set n.a = … %} changes.
type namespace struct{ vars *Dict }

// undefined is a variable that is not there. It may be printed, tested and gone
// through, and nothing else.
type undefined struct{ why string }

// function can be called.
type function struct {
	name string
	call func(c *call) Value
}

// truth is Python's bool( ).
func truth(v Value) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *List:
		return v.shape == generator || len(v.items) > 0
	case *Dict:
		return len(v.keys) > 0
	}
	return true
}

// typeName is what Python calls the type.
func typeName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case undefined:
		return "Undefined"
	case bool:
		return "bool"
	case int64, huge:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case *List:
		return shapeNames[v.shape]
	case *Dict:
		return "dict"
	case *namespace:
		return "Namespace"
	case *loop:
		return "LoopContext"
	}
	return "function"
}

// number is the value as an integer, or as a float where it is one.
func number(v Value) (i int64, f float64, isFloat, ok bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, 1, false, true
		}
		return 0, 0, false, true
	case int64:
		return v, float64(v), false, true
	case float64:
		return 0, v, true, true
	}
	return 0, 0, false, false
}

// equal is Python's ==.
func (s *state) equal(a, b Value, line, depth int) bool {
	if s.step(line); depth > maxNested {
		fail(line, "what is compared is nested more than %d times", maxNested)
	}
	if ai, af, aFloat, ok := number(a); ok {
		bi, bf, bFloat, ok := number(b)
		if ok && !aFloat && !bFloat {
			return ai == bi
		}
		return ok && af == bf
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case undefined:
		_, ok := b.(undefined)
		return ok
	case string:
		b, ok := b.(string)
		if ok && len(a) == len(b) {
			s.pay(len(a), line)
		}
		return ok && a == b
	case *List:
		b, ok := b.(*List)
		if !ok || a.shape != b.shape || len(a.items) != len(b.items) {
			return false
		}
		for i := range a.items {
			if !s.equal(a.items[i], b.items[i], line, depth+1) {
				return false
			}
		}
		return a == b || a.shape <= tuple || a.shape == ranged
	case *Dict:
		b, ok := b.(*Dict)
		if !ok || len(a.keys) != len(b.keys) {
			return false
		}
		for i, k := range a.keys {
			v, ok := b.get(k)
			if !ok || !s.equal(a.vals[i], v, line, depth+1) {
				return false
			}
		}
		return true
	}
	return a == b
}

// less is Python's <, of numbers, texts and sequences.
func (s *state) less(a, b Value, line int) bool {
	s.step(line)
	ai, af, aFloat, okA := number(a)
	bi, bf, bFloat, okB := number(b)
	if okA && okB {
		if !aFloat && !bFloat {
			return ai < bi
		}
		return af < bf
	}
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			s.pay(min(len(x), len(y)), line)
			return x < y // bytes of UTF-8 sort as characters do
		}
	case *List:
		if y, ok := b.(*List); ok && x.shape == y.shape && x.shape <= tuple {
			for i := range min(len(x.items), len(y.items)) {
				if !s.equal(x.items[i], y.items[i], line, 0) {
					return s.less(x.items[i], y.items[i], line)
				}
			}
			return len(x.items) < len(y.items)
		}
	}
	refuseUndefined(a, line)
	refuseUndefined(b, line)
	fail(line, "a %s and a %s have no order", typeName(a), typeName(b))
	return false
}

// refuseUndefined fails with the reason why a variable is not there.
func refuseUndefined(v Value, line int) {
	if u, ok := v.(undefined); ok {
		fail(line, "%s", u.why)
	}
}

// Equal is whether two values that came from JSON are equal.
func Equal(a, b Value) bool { return (&state{}).equal(a, b, 0, 0) }
