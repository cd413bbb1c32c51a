package passtest

import (
	"fmt"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/tensor"
	"ptc/passes/check"
)

// Arena is the memory of one device in which a function of ir(Planned) runs
// call by call: every value lies where the plan says, so that a plan that
// reuses memory too early computes something else. What no argument fills is
// not a number to begin with.
type Arena struct {
	Bytes []byte

	m     *ir.Module
	f     *ir.Func
	at    map[*ir.Value]int64
	grads map[*ir.Value][]byte // as they were when they were computed
}

// NewArena places the arguments of f. in has a tensor for each.
func NewArena(m *ir.Module, f *ir.Func, in check.Inputs) (*Arena, error) {
	a := &Arena{m: m, f: f, at: map[*ir.Value]int64{}, grads: map[*ir.Value][]byte{}}
	a.Bytes = make([]byte, f.Attrs.Int("arena", 0))
	for i := range a.Bytes {
		a.Bytes[i] = 0xff
	}
	for _, o := range f.Ops {
		for j, v := range o.Results {
			a.at[v] = o.At[j]
		}
	}
	for _, x := range f.Args {
		a.at[x.Value] = x.At.Bytes()
		mem, err := a.bytes(x.Value)
		if err != nil {
			return nil, err
		}
		if x.Role == ir.RoleIndex {
			tensor.Scalar(ir.I32, float64(x.Attrs.Int(ir.AttrNumber, 0))).Put(mem)
			continue
		}
		in[check.Key{Role: x.Role, Path: x.Path}].Put(mem)
	}
	return a, nil
}

func (a *Arena) bytes(v *ir.Value) ([]byte, error) {
	at, n := a.at[v], int64(v.Type.Bytes())
	if at < 0 || at+n > int64(len(a.Bytes)) {
		return nil, fmt.Errorf("%%%d at %d..%d is not in the arena", v.ID, at, at+n)
	}
	return a.Bytes[at : at+n], nil
}

// Call runs operation i of the function.
func (a *Arena) Call(i int) error {
	o := a.f.Ops[i]
	k := o.Callee
	if k == nil {
		return fmt.Errorf("operation %d calls no kernel", i)
	}
	var args []*tensor.Tensor
	for _, v := range o.Args {
		mem, err := a.bytes(v)
		if err != nil {
			return err
		}
		t := tensor.New(v.Type)
		t.Get(mem)
		args = append(args, t)
	}
	out, err := eval.Func(a.m, k, args, eval.Options{})
	if err != nil {
		return err
	}
	for j, v := range o.Results {
		mem, err := a.bytes(v)
		if err != nil {
			return err
		}
		out[j].Put(mem)
		a.grads[v] = append([]byte(nil), mem...)
	}
	return nil
}

// Results are the bytes of each result by role and path, as the run that
// follows reads them: new parameters and states where the old ones were,
// gradients as they were when they were computed.
func (a *Arena) Results() (map[string]string, error) {
	out := map[string]string{}
	for _, r := range a.f.Results {
		v := r.Value
		if x := a.f.Arg(r.Role, r.Path); x != nil {
			v = x.Value
		}
		mem, err := a.bytes(v)
		if err != nil {
			return nil, err
		}
		if g, ok := a.grads[v]; ok && r.Role == ir.RoleGrad {
			mem = g
		}
		out[r.Role+" "+r.Path] = string(mem)
	}
	return out, nil
}
