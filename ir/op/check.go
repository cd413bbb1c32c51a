package op

import (
	"fmt"
	"reflect"
	"strings"

	"ptc/internal/collective"
	"ptc/ir"
)

// Infer is the result types of the named operation: arity, operand kinds and
// attributes are checked first. The error is a *ShapeError, except where no
// row has the name.
func Infer(name string, args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	d := Lookup(name)
	if d == nil {
		return nil, fmt.Errorf("op: no row for %q", name)
	}
	return d.Check(args, attrs)
}

// Check verifies arity and attributes against the row, then infers.
func (d *Def) Check(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	if len(args) < d.MinArgs || d.MaxArgs >= 0 && len(args) > d.MaxArgs {
		return nil, &ShapeError{Msg: fmt.Sprintf("`%s` takes %s, found %d", d.Name, arity(d), len(args))}
	}
	if err := d.checkAttrs(attrs); err != nil {
		return nil, err
	}
	res, err := d.Infer(args, attrs)
	if err != nil {
		return nil, err
	}
	for _, t := range res {
		if err := distinct(t); err != nil {
			return nil, err
		}
	}
	return res, nil
}

func (d *Def) checkAttrs(attrs ir.Attrs) error {
	var known []string
	for _, s := range d.Attrs {
		known = append(known, s.Key)
		if s.Required && !attrs.Has(s.Key) {
			return &ShapeError{Msg: fmt.Sprintf("`%s` needs `%s`", d.Name, s.Key)}
		}
	}
	for _, a := range attrs {
		s := d.attr(a.Key)
		if s == nil {
			return &ShapeError{Msg: fmt.Sprintf("`%s` takes no `%s`", d.Name, a.Key), Candidates: known}
		}
		if !sameKind(s.Kind, a.Val) {
			return &ShapeError{
				Msg:  fmt.Sprintf("`%s` of `%s` is %s", a.Key, d.Name, a.Val),
				Want: kindName(s.Kind),
			}
		}
	}
	return nil
}

// CheckFacts verifies the facts of o that not every operation may have.
func (d *Def) CheckFacts(o *ir.Op) error {
	launch := d.Class == Control || d.Class == Collective
	switch {
	case o.Callee == nil && d.Class == Control:
		return &ShapeError{Msg: fmt.Sprintf("`%s` needs `fn`", d.Name)}
	case o.Callee != nil && d.Class != Control:
		return &ShapeError{Msg: fmt.Sprintf("`%s` takes no `fn`", d.Name)}
	case o.Memory == ir.Device && d.Name == collective.DeviceToHost:
		return &ShapeError{Msg: "`device_to_host` needs `memory`", Want: "`host` or `disk`"}
	case o.Memory != ir.Device && d.Name != collective.DeviceToHost:
		return &ShapeError{Msg: fmt.Sprintf("`%s` takes no `memory`", d.Name)}
	case o.Start && d.Traits&Starts == 0:
		return &ShapeError{Msg: fmt.Sprintf("`%s` takes no `start`", d.Name)}
	case o.At != nil && !launch && d.Class != Boundary:
		return &ShapeError{Msg: fmt.Sprintf("`%s` takes no `at`", d.Name)}
	case o.Wait != ir.WaitUnset && !launch:
		return &ShapeError{Msg: fmt.Sprintf("`%s` takes no `wait`", d.Name)}
	}
	return nil
}

func (d *Def) attr(key string) *AttrSpec {
	for i := range d.Attrs {
		if d.Attrs[i].Key == key {
			return &d.Attrs[i]
		}
	}
	return nil
}

// sameKind lets an integer stand for a number, nothing else.
func sameKind(want, got ir.AttrVal) bool {
	if _, ok := want.(ir.Float); ok {
		if _, ok := got.(ir.Int); ok {
			return true
		}
	}
	return reflect.TypeOf(want) == reflect.TypeOf(got)
}

func kindName(k ir.AttrVal) string {
	switch k.(type) {
	case ir.Int:
		return "an integer"
	case ir.Float:
		return "a number"
	case ir.BoolVal:
		return "true or false"
	case ir.Str:
		return "a string"
	case ir.Name:
		return "a name"
	case ir.Names:
		return "names, such as (a, b)"
	case ir.Ints:
		return "integers, such as [1, 2]"
	case ir.Sizes:
		return "axes with sizes, such as {a=4}"
	case ir.Pairs:
		return "pairs of names, such as {a:b}"
	case ir.Sym:
		return "a function, such as @f"
	}
	return "another kind of value"
}

// distinct refuses a type in which an axis name occurs twice or a size is not
// positive.
func distinct(t ir.Type) error {
	for i, a := range t.Axes {
		if t.Index(a.Name) != i {
			return axisErr(a.Name, "axis `%s` would occur twice in the result [%s]", a.Name, strings.Join(t.Names(), ", "))
		}
		if a.Size < 1 {
			return axisErr(a.Name, "axis `%s` would have size %d", a.Name, a.Size)
		}
	}
	return nil
}
