package fusion

import (
	"fmt"

	"ptc/ir"
	"ptc/ir/op"
)

// demand puts operations where they are needed: operands of products, work on
// scores, or what follows the products.
func (a *attending) demand() error {
	body, epilogue := map[*ir.Op]bool{}, map[*ir.Op]bool{}
	var need func(v *ir.Value, in map[*ir.Op]bool, within []ir.Axis, what string) error
	need = func(v *ir.Value, in map[*ir.Op]bool, within []ir.Axis, what string) error {
		o := v.Def
		if o == nil || a.isView(o) || in[o] || a.Part[o] == PartRoot || in == nil && a.Part[o] == PartLeft || in != nil && a.from[v].roots() {
			return nil
		}
		if !subspace(v.Type.Axes, within) {
			return fmt.Errorf("%s has axes beyond %s: %s", o.Name, what, v.Type)
		}
		if in == nil {
			a.Part[o] = PartLeft
			if o.Name == op.Gather {
				return fmt.Errorf("gather in the operand of a product must be a kernel of its own")
			}
		} else {
			in[o] = true
		}
		for i, x := range o.Args {
			if o.Name == op.Gather && i == 0 {
				continue
			}
			if err := need(x, in, within, what); err != nil {
				return err
			}
		}
		return nil
	}
	for _, o := range a.F.Ops {
		if a.isView(o) || a.Part[o] == PartRoot {
			continue
		}
		f := a.from[o.Result()]
		in, within, what := body, a.space, "the scores'"
		switch {
		case f.scores:
		case f.out != nil:
			in, within, what = epilogue, f.out.Result().Type.Axes, "its product's"
		case f.roots():
			in, within = epilogue, o.Result().Type.Axes
		default:
			continue
		}
		if !subspace(o.Result().Type.Axes, within) {
			return fmt.Errorf("%s has axes beyond %s: %s", o.Name, what, o.Result().Type)
		}
		in[o] = true
		for i, x := range o.Args {
			if o.Name == op.Gather && i == 0 {
				continue
			}
			if err := need(x, in, within, what); err != nil {
				return err
			}
		}
	}
	for _, v := range a.operands() {
		if err := need(v, nil, v.Type.Axes, "its operand's"); err != nil {
			return err
		}
	}
	for _, o := range a.F.Ops {
		if body[o] {
			a.Part[o] = PartBody
			a.Body = append(a.Body, o)
		} else if epilogue[o] {
			a.Part[o] = PartEpilogue
			a.Epilogue = append(a.Epilogue, o)
		}
	}
	return nil
}

// results checks that results are not over the scores, and of the attention, and says which products they are made of.
func (a *attending) results() error {
	for _, r := range a.F.Results {
		t := r.Value.Type
		var want []ir.Axis
		switch f := a.from[r.Value]; {
		case f.scores:
			return fmt.Errorf("result %s is over the scores", t)
		case f.out != nil:
			want = f.out.Result().Type.Axes
		case f.roots():
			want = a.rows
		default:
			return fmt.Errorf("result %s has nothing of the scores", t)
		}
		if !SameSpace(t.Axes, want) {
			return fmt.Errorf("result %s is neither over the rows nor over a product's axes", t)
		}
		a.Made = append(a.Made, a.from[r.Value].out)
	}
	return nil
}

// names writes axes by their names: "(batch, seq)".
func names(axes []ir.Axis) string {
	s := "("
	for i, x := range axes {
		if i > 0 {
			s += ", "
		}
		s += x.Name
	}
	return s + ")"
}
