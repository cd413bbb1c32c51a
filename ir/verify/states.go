package verify

import (
	"errors"
	"fmt"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
)

func init() {
	for l := ir.Sharded; l <= ir.Planned; l++ {
		AtLevel(l, "states", states)
	}
}

// states: the sharding that each type notes, partial sums included, follows
// operation by operation from the shardings of the arguments. So a collective that is missing, of
// another group or kind, or there twice, is found by the types alone: its
// readers need another sharding, or its operand has none that it could change.
func states(m *ir.Module) diag.List {
	c := &checker{m: m, funcs: map[string]*ir.Func{}}
	if m.Devices() == 1 {
		return nil
	}
	for _, f := range m.Funcs {
		c.funcs[f.Name] = f
	}
	for _, f := range m.Funcs {
		for _, o := range f.Ops {
			if op.Of(o).Class == op.Control {
				c.callStates(f, o)
			} else {
				c.opStates(f, o)
			}
		}
		c.resultStates(f)
	}
	c.sharedStates()
	return c.errs
}

func (c *checker) opStates(f *ir.Func, o *ir.Op) {
	want, err := op.States(o)
	if c.m.Level == ir.Sharded {
		want, err = op.StatesOfWhole(o, c.m.Mesh)
	}
	if err != nil {
		var e *op.ShapeError
		if errors.As(err, &e) {
			c.add(codeState, o.Pos, at(f, o), e.Msg, e.Want, "")
		} else {
			c.add(codeState, o.Pos, at(f, o), err.Error(), "", "")
		}
		return
	}
	for i, r := range o.Results {
		if !op.SameState(r.Type, want[i]) {
			c.add(codeState, o.Pos, at(f, o), fmt.Sprintf("%%%d is %s", r.ID, r.Type), want[i].String(), "")
			continue
		}
		// A source says itself which shard it makes.
		if d := op.Of(o); d.Class == op.Source && c.m.Level >= ir.Local {
			c.sourceState(f, o, d)
		}
	}
}

func (c *checker) sourceState(f *ir.Func, o *ir.Op, d *op.Def) {
	types := make([]ir.Type, len(o.Args))
	for i, a := range o.Args {
		types[i] = a.Type
	}
	if says, err := d.Infer(types, o.Attrs); err == nil && !op.SameState(says[0], o.Result().Type) {
		c.add(codeState, o.Pos, at(f, o), fmt.Sprintf("%%%d is %s", o.Result().ID, o.Result().Type), says[0].String(), "")
	}
}

// callStates compares operands and results with those of the function called.
func (c *checker) callStates(f *ir.Func, o *ir.Op) {
	callee := o.Callee
	for i, a := range callee.Args {
		if !op.SameState(o.Args[i].Type, a.Value.Type) {
			c.add(codeState, o.Pos, at(f, o), fmt.Sprintf("operand %d is %s", i+1, o.Args[i].Type), a.Value.Type.String(), "")
		}
	}
	c.callPlace(f, o, callee)
	for i, r := range callee.Results {
		if !op.SameState(o.Results[i].Type, r.Value.Type) {
			c.add(codeState, o.Pos, at(f, o), fmt.Sprintf("%%%d is %s", o.Results[i].ID, o.Results[i].Type), r.Value.Type.String(), "")
		}
	}
}

// callPlace: a kernel that counts in global positions gets the device's own
// coordinates, in the mesh that there is.
func (c *checker) callPlace(f *ir.Func, o *ir.Op, callee *ir.Func) {
	for i, a := range callee.Args {
		if a.Role != ir.RoleIn || a.Path != "coord" {
			continue
		}
		if c.in != f { // once for all calls
			c.in, c.coord = f, f.Arg(ir.RoleCoord, "")
		}
		if c.coord == nil || c.coord.Value != o.Args[i] {
			c.add(codeState, o.Pos, at(f, o), fmt.Sprintf("operand %d, %%%d, is not the device's coordinates", i+1, o.Args[i].ID), "", "")
		}
		sizes := callee.Attrs.Sizes("mesh")
		same := len(sizes) == len(c.m.Mesh)
		for j := 0; same && j < len(sizes); j++ {
			same = sizes[j].Name == c.m.Mesh[j].Name && sizes[j].N == c.m.Mesh[j].Size
		}
		if !same {
			c.add(codeState, o.Pos, at(f, o), fmt.Sprintf("@%s counts in the mesh %s", callee.Name, ir.Sizes(sizes)), "the module's", "")
		}
	}
}

// resultStates: from Local on nothing leaves an entry function partial, and a new
// parameter or state is sharded as the old one.
func (c *checker) resultStates(f *ir.Func) {
	if c.m.Level < ir.Local || f.Class != ir.Entry {
		return
	}
	args := f.Named()
	for i, r := range f.Results {
		where := fmt.Sprintf("result %d of @%s, %s %q", i+1, f.Name, r.Role, r.Path)
		if len(r.Value.Type.Partial) > 0 {
			c.add(codeState, diag.Pos{}, where, fmt.Sprintf("%%%d is %s", r.Value.ID, r.Value.Type), "a reduced value", "")
		}
		if a := args.Arg(r.Role, r.Path); a != nil && !op.SameState(a.Value.Type, r.Value.Type) {
			c.add(codeState, diag.Pos{}, where, fmt.Sprintf("%%%d is %s", r.Value.ID, r.Value.Type), a.Value.Type.String(), "")
		}
	}
}

// sharedStates: a parameter or state is sharded alike in every function, and so
// is every argument of the programs of one pipeline. No argument is partial.
func (c *checker) sharedStates() {
	seen := map[string]*ir.Arg{}
	for _, f := range c.m.Funcs {
		if f.Class != ir.Entry {
			continue
		}
		for i, a := range f.Args {
			where := fmt.Sprintf("argument %d of @%s, %s %q", i+1, f.Name, a.Role, a.Path)
			if c.m.Level >= ir.Local && len(a.Value.Type.Partial) > 0 {
				c.add(codeState, a.Pos, where, "it is "+a.Value.Type.String(), "a reduced value", "")
			}
			key := a.Role + " " + a.Path
			if a.Role != ir.RoleParam && a.Role != ir.RoleState {
				key += " " + f.Of
				if f.Of == "" {
					key += "@" + f.Name
				}
			}
			if b := seen[key]; b == nil {
				seen[key] = a
			} else if !op.SameState(a.Value.Type, b.Value.Type) {
				c.add(codeState, a.Pos, where, "it is "+a.Value.Type.String(), b.Value.Type.String()+", as in another function", "")
			}
		}
	}
}
