package check

import (
	"cmp"
	"hash/fnv"
	"maps"
	"math"
	"math/rand"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

// Key names an argument or a result across versions of a module.
type Key struct{ Role, Path string }

func (k Key) String() string {
	if k.Path == "" {
		return k.Role
	}
	return k.Role + " " + k.Path
}

// roleOpened is the role of the arguments that stand for opened gradients.
const roleOpened = "opened"

// Inputs are tensors by argument. The same seed and argument give the same
// tensor, whatever the other arguments are. All values are float32 numbers.
type Inputs map[Key]*tensor.Tensor

// defaultBound is the bound of integer data that nothing looks up.
const defaultBound = 8

// RandomInputs makes a value for each argument of m's entry functions, of the
// whole tensor where m has parts of it.
//
// Parameters are drawn from their initializers, and all of them are moved a
// little, since a zero or a one hides what multiplies it. States are moved
// upwards, since some are sums of squares. Integer data stays below the size
// of what it looks up.
func RandomInputs(m *ir.Module, seed int64) Inputs {
	in := Inputs{}
	in.extend(m, seed)
	return in
}

// extend adds what is missing for m, such as the states that a pass has added. A
// state that is a copy of a parameter has its value.
func (in Inputs) extend(m *ir.Module, seed int64) {
	bounds := map[Key]int{}
	for _, f := range m.Funcs {
		if f.Class != ir.Kernel {
			lookups(f, bounds)
		}
	}
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		for i, a := range f.Args {
			k := argKey(a, i)
			if in[k] != nil {
				continue
			}
			t := a.Value.Type
			if m.Level >= ir.Local {
				t = whole(m, t)
			}
			if w := in[Key{ir.RoleParam, a.Attrs.Text(ir.AttrCopyOf)}]; w != nil && a.Role == ir.RoleState {
				in[k] = &tensor.Tensor{Type: t, Data: w.Data}
				continue
			}
			in[k] = random(a, t, rand.New(rand.NewSource(seed^int64(hash(k)))), bounds[k])
		}
	}
}

func hash(k Key) uint64 {
	h := fnv.New64a()
	h.Write([]byte(k.String()))
	return h.Sum64()
}

// argKey names argument i, by its number where it has no role.
func argKey(a *ir.Arg, i int) Key {
	if a.Role == "" {
		return Key{"arg", string(ir.Int(i).String())}
	}
	return Key{a.Role, a.Path}
}

func random(a *ir.Arg, of ir.Type, r *rand.Rand, bound int) *tensor.Tensor {
	t := tensor.New(of)
	init, _ := a.Attrs.Get("init").(ir.Term)
	if bound == 0 {
		bound = defaultBound
	}
	for i := range t.Data {
		t.Data[i] = element(a, init, r, bound)
	}
	ir.F32.Round(t.Data)
	a.Value.Type.DType.Round(t.Data)
	return t
}

func element(a *ir.Arg, init ir.Term, r *rand.Rand, bound int) float64 {
	switch {
	case a.Role == ir.RoleStep:
		return 3
	case a.Role == ir.RoleSeed:
		return 7
	case a.Role == ir.RoleSetting:
		return a.Attrs.Float(ir.AttrDefault, 0)
	case a.Value.Type.DType == ir.Bool:
		return float64(r.Intn(2))
	case a.Value.Type.DType.IsInt():
		return float64(r.Intn(bound))
	case a.Role == ir.RoleParam:
		return initial(init, r) + 0.02*r.NormFloat64()
	case a.Role == ir.RoleState:
		return initial(init, r) + 0.01*math.Abs(r.NormFloat64())
	case a.Role == roleOpened:
		return 0.01 * r.NormFloat64()
	}
	return r.NormFloat64()
}

// initial draws from an initializer; zero where there is none.
func initial(t ir.Term, r *rand.Rand) float64 {
	switch t.Head {
	case "normal":
		return t.Args.Float("mean", 0) + t.Args.Float("std", 1)*r.NormFloat64()
	case "uniform":
		low, high := t.Args.Float("low", 0), t.Args.Float("high", 1)
		return low + (high-low)*r.Float64()
	case "ones":
		return 1
	case "constant":
		return t.Args.Float("value", 0)
	}
	return 0
}

// lookups finds for each integer argument of f the least size of an axis that
// it is a position of: by an indexed operation, or by comparison with index.
func lookups(f *ir.Func, bounds map[Key]int) {
	of := map[*ir.Value]int{}
	lower := func(v *ir.Value, n int) {
		if n > 0 && (of[v] == 0 || n < of[v]) {
			of[v] = n
		}
	}
	for i := len(f.Ops) - 1; i >= 0; i-- {
		o := f.Ops[i]
		switch op.Of(o).Class {
		case op.Indexed:
			n := o.Args[0].Type.Size(o.Attrs.Text("axis"))
			for _, s := range o.Attrs.Sizes("out") {
				if s.Name == o.Attrs.Text("axis") {
					n = s.N
				}
			}
			lower(o.Args[1], n)
		case op.Movement:
			for _, a := range o.Args {
				lower(a, of[o.Results[0]])
			}
		case op.Elementwise:
			if len(o.Args) == 2 && o.Results[0].Type.DType == ir.Bool {
				lower(o.Args[0], positions(o.Args[1]))
				lower(o.Args[1], positions(o.Args[0]))
			}
		}
	}
	for i, a := range f.Args {
		if k := argKey(a, i); of[a.Value] > 0 && (bounds[k] == 0 || of[a.Value] < bounds[k]) {
			bounds[k] = of[a.Value]
		}
	}
}

// positions is the size of the axis that v counts along, or 0.
func positions(v *ir.Value) int {
	for v.Def != nil && op.Of(v.Def).Class == op.Movement {
		v = v.Def.Args[0]
	}
	if v.Def == nil || v.Def.Name != op.Index {
		return 0
	}
	return int(v.Def.Attrs.Int("size", 0))
}

// sortedKeys lists keys in a fixed order.
func sortedKeys[T any](m map[Key]T) []Key {
	return slices.SortedFunc(maps.Keys(m), func(a, b Key) int { return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Path, b.Path)) })
}
