package op_test

import (
	"math"
	"math/rand"
	"testing"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

// What operations mean, element by element and by axis name: a second, slow
// evaluation that knows nothing of strides.

// coord is a place in a tensor.
type coord map[string]int

func (c coord) with(name string, i int) coord {
	d := coord{}
	for k, v := range c {
		d[k] = v
	}
	d[name] = i
	return d
}

// at is the element of x at c, whose further axes are ignored.
func at(x *tensor.Tensor, c coord) float64 {
	i := 0
	for _, a := range x.Type.Axes {
		i = i*a.Size + c[a.Name]
	}
	return x.Data[i]
}

// visit calls f for every coordinate of axes, in row-major order.
func visit(axes []ir.Axis, c coord, f func(c coord)) {
	if len(axes) == 0 {
		f(c)
		return
	}
	for i := 0; i < axes[0].Size; i++ {
		visit(axes[1:], c.with(axes[0].Name, i), f)
	}
}

// pickAxes is the axes of t with the names.
func pickAxes(t ir.Type, names []string) (axes []ir.Axis) {
	for _, n := range names {
		axes = append(axes, t.Axes[t.Index(n)])
	}
	return axes
}

// element is what the result of o at c should be.
type element func(o *ir.Op, args []*tensor.Tensor, c coord) float64

func scalar1(f func(float64) float64) element {
	return func(o *ir.Op, args []*tensor.Tensor, c coord) float64 { return f(at(args[0], c)) }
}

func scalar2(f func(x, y float64) float64) element {
	return func(o *ir.Op, args []*tensor.Tensor, c coord) float64 { return f(at(args[0], c), at(args[1], c)) }
}

func boolean(f func(x, y float64) bool) element {
	return scalar2(func(x, y float64) float64 {
		if f(x, y) {
			return 1
		}
		return 0
	})
}

var meanings = map[string]element{
	"neg": scalar1(func(x float64) float64 { return -x }), "abs": scalar1(math.Abs),
	"sign":  scalar1(func(x float64) float64 { return math.Copysign(1, x) * map[bool]float64{true: 1}[x != 0] }),
	"floor": scalar1(math.Floor), "exp": scalar1(math.Exp), "log": scalar1(math.Log), "sqrt": scalar1(math.Sqrt),
	"rsqrt": scalar1(func(x float64) float64 { return math.Pow(x, -0.5) }), "tanh": scalar1(math.Tanh),
	"erf": scalar1(math.Erf), "sigmoid": scalar1(func(x float64) float64 { return (1 + math.Tanh(x/2)) / 2 }),
	"sin": scalar1(math.Sin), "cos": scalar1(math.Cos), "not": scalar1(func(x float64) float64 { return 1 - x }),
	"detach":         scalar1(func(x float64) float64 { return x }),
	"surrogate":      scalar1(func(x float64) float64 { return x }),
	"coordinate":     func(*ir.Op, []*tensor.Tensor, coord) float64 { return 0 },
	"reshard":        scalar1(func(x float64) float64 { return x }),
	"enter":          scalar1(func(x float64) float64 { return x }),
	"accumulate":     scalar1(func(x float64) float64 { return x }),
	"accumulate_max": scalar1(func(x float64) float64 { return x }),
	"enter_tick":     func(*ir.Op, []*tensor.Tensor, coord) float64 { return 0 },
	"leave_tick":     func(_ *ir.Op, args []*tensor.Tensor, c coord) float64 { return at(args[1], c) },
	"leave":          func(_ *ir.Op, args []*tensor.Tensor, c coord) float64 { return at(args[1], c) },
	"add":            scalar2(func(x, y float64) float64 { return x + y }), "sub": scalar2(func(x, y float64) float64 { return x - y }),
	"mul": scalar2(func(x, y float64) float64 { return x * y }), "max": scalar2(math.Max), "min": scalar2(math.Min),
	"pow": scalar2(math.Pow),
	"eq":  boolean(func(x, y float64) bool { return x == y }), "ne": boolean(func(x, y float64) bool { return x != y }),
	"lt": boolean(func(x, y float64) bool { return x < y }), "le": boolean(func(x, y float64) bool { return x <= y }),
	"gt": boolean(func(x, y float64) bool { return x > y }), "ge": boolean(func(x, y float64) bool { return x >= y }),
	"and": boolean(func(x, y float64) bool { return x*y == 1 }), "or": boolean(func(x, y float64) bool { return x+y > 0 }),
	"div": func(o *ir.Op, args []*tensor.Tensor, c coord) float64 {
		x, y := at(args[0], c), at(args[1], c)
		switch {
		case args[0].Type.DType.IsFloat():
			return x / y
		case y == 0:
			return 0
		}
		return math.Trunc(x / y)
	},
	"mod": func(o *ir.Op, args []*tensor.Tensor, c coord) float64 {
		x, y := at(args[0], c), at(args[1], c)
		if y == 0 {
			return 0
		}
		return x - y*math.Trunc(x/y)
	},
	"cast": func(o *ir.Op, args []*tensor.Tensor, c coord) float64 {
		x := at(args[0], c)
		switch o.Result().Type.DType {
		case ir.Bool:
			return map[bool]float64{true: 1}[x != 0]
		case ir.I32:
			return math.Trunc(x)
		}
		return x
	},
	"select": func(o *ir.Op, args []*tensor.Tensor, c coord) float64 {
		if at(args[0], c) == 1 {
			return at(args[1], c)
		}
		return at(args[2], c)
	},
	"transpose": scalar1(func(x float64) float64 { return x }),
	"broadcast": scalar1(func(x float64) float64 { return x }),
	"const": func(o *ir.Op, args []*tensor.Tensor, c coord) float64 {
		return o.Attrs.Float("value", math.NaN())
	},
	"index": func(o *ir.Op, args []*tensor.Tensor, c coord) float64 {
		return float64(c[o.Attrs.Text("axis")])
	},
	"random": func(o *ir.Op, args []*tensor.Tensor, c coord) float64 {
		e := 0
		for _, a := range o.Attrs.Sizes("axes") {
			e = e*a.N + c[a.Name]
		}
		b := tensor.Philox4x32([4]uint32{uint32(e), 0, uint32(o.Attrs.Int("site", 0)), uint32(int32(args[1].Data[0]))},
			[2]uint32{uint32(int32(args[0].Data[0])), tensor.RandomKey})
		if o.Attrs.Text("dist") == "normal" {
			return tensor.Normal(b)
		}
		return tensor.Uniform(b)
	},
	"reduce_sum": func(o *ir.Op, args []*tensor.Tensor, c coord) (sum float64) {
		visit(pickAxes(args[0].Type, o.Attrs.Names("over")), c, func(c coord) { sum += at(args[0], c) })
		return sum
	},
	"reduce_max": func(o *ir.Op, args []*tensor.Tensor, c coord) float64 {
		m := math.Inf(-1)
		visit(pickAxes(args[0].Type, o.Attrs.Names("over")), c, func(c coord) { m = math.Max(m, at(args[0], c)) })
		return m
	},
	"dot": func(o *ir.Op, args []*tensor.Tensor, c coord) (sum float64) {
		visit(pickAxes(args[0].Type, o.Attrs.Names("over")), c, func(c coord) { sum += at(args[0], c) * at(args[1], c) })
		return sum
	},
	"rename": func(o *ir.Op, args []*tensor.Tensor, c coord) float64 {
		d := c.with("", 0)
		for _, p := range o.Attrs.Pairs("axes") {
			d[p.From] = c[p.To]
		}
		return at(args[0], d)
	},
	"split": func(o *ir.Op, args []*tensor.Tensor, c coord) float64 {
		i := 0
		for _, s := range o.Attrs.Sizes("into") {
			i = i*s.N + c[s.Name]
		}
		return at(args[0], c.with(o.Attrs.Text("axis"), i))
	},
	"merge": func(o *ir.Op, args []*tensor.Tensor, c coord) float64 {
		axes, i := o.Attrs.Names("axes"), c[o.Attrs.Text("into")]
		for k := len(axes) - 1; k >= 0; k-- {
			n := args[0].Type.Size(axes[k])
			c = c.with(axes[k], i%n)
			i /= n
		}
		return at(args[0], c)
	},
	"slice": func(o *ir.Op, args []*tensor.Tensor, c coord) float64 {
		n := o.Attrs.Text("axis")
		return at(args[0], c.with(n, c[n]+int(o.Attrs.Int("start", 0))))
	},
	"take": func(o *ir.Op, args []*tensor.Tensor, c coord) float64 {
		n := o.Attrs.Text("axis")
		return at(args[0], c.with(n, int(o.Attrs.Ints("sources")[c[n]])))
	},
	"pad": func(o *ir.Op, args []*tensor.Tensor, c coord) float64 {
		n := o.Attrs.Text("axis")
		i := c[n] - int(o.Attrs.Int("low", 0))
		if i < 0 || i >= args[0].Type.Size(n) {
			return 0
		}
		return at(args[0], c.with(n, i))
	},
	"concat": func(o *ir.Op, args []*tensor.Tensor, c coord) float64 {
		n := o.Attrs.Text("axis")
		i := c[n]
		for _, x := range args {
			if i < x.Type.Size(n) {
				return at(x, c.with(n, i))
			}
			i -= x.Type.Size(n)
		}
		return math.NaN()
	},
	"gather": func(o *ir.Op, args []*tensor.Tensor, c coord) float64 {
		n, i := o.Attrs.Text("axis"), int(at(args[1], c))
		if i < 0 || i >= args[0].Type.Size(n) {
			return 0
		}
		return at(args[0], c.with(n, i))
	},
	"scatter_add": func(o *ir.Op, args []*tensor.Tensor, c coord) (sum float64) {
		t := o.Result().Type
		var free []string
		for _, n := range args[0].Type.Names() {
			if !t.Has(n) {
				free = append(free, n)
			}
		}
		visit(pickAxes(args[0].Type, free), c, func(d coord) {
			if int(at(args[1], d)) == c[o.Attrs.Text("axis")] {
				sum += at(args[0], d)
			}
		})
		return sum
	},
}

func TestMeaning(t *testing.T) {
	cases(t, 60, alone, func(t *testing.T, d *op.Def, e op.Example) {
		want := meanings[d.Name]
		if want == nil {
			t.Fatal("no meaning to compare with")
		}
		m, f, o := single(t, d, e)
		got := run(t, m, f, e.Args, eval.Options{Exact: true})[0]
		visit(got.Type.Axes, coord{}, func(c coord) {
			w, g := want(o, e.Args, c), at(got, c)
			if math.Abs(w-g) > 1e-12*math.Max(1, math.Abs(w)) || w != w {
				t.Errorf("at %v: %v, want %v", c, g, w)
			}
		})
	})
}

// TestIntegersWrap holds the arithmetic of i32 at its limits.
func TestIntegersWrap(t *testing.T) {
	const lo, hi = math.MinInt32, math.MaxInt32
	for _, c := range []struct {
		name string
		args []float64
		want float64
	}{
		{name: "add", args: []float64{hi, 1}, want: lo},
		{name: "sub", args: []float64{lo, 1}, want: hi},
		{name: "mul", args: []float64{hi, hi}, want: 1},
		{name: "div", args: []float64{-7, 2}, want: -3},
		{name: "div", args: []float64{lo, -1}, want: lo},
		{name: "div", args: []float64{5, 0}, want: 0},
		{name: "mod", args: []float64{-7, 2}, want: -1},
		{name: "mod", args: []float64{5, 0}, want: 0},
		{name: "neg", args: []float64{lo}, want: lo},
		{name: "abs", args: []float64{lo}, want: lo},
	} {
		var e op.Example
		for _, v := range c.args {
			e.Args = append(e.Args, tensor.Scalar(ir.I32, v))
		}
		m, f, _ := single(t, op.Lookup(c.name), e)
		if got := run(t, m, f, e.Args, eval.Options{})[0].Data[0]; got != c.want {
			t.Errorf("%s%v = %v, want %v", c.name, c.args, got, c.want)
		}
	}
	for _, c := range [][2]float64{{1e20, hi}, {-1e20, lo}, {math.NaN(), 0}, {-1.9, -1}, {math.Inf(1), hi}} {
		e := op.Example{Args: []*tensor.Tensor{tensor.Scalar(ir.F32, c[0])}, Attrs: ir.A("to", ir.Name("i32"))}
		m, f, _ := single(t, op.Lookup("cast"), e)
		if got := run(t, m, f, e.Args, eval.Options{Exact: true})[0].Data[0]; got != c[1] {
			t.Errorf("cast of %v = %v, want %v", c[0], got, c[1])
		}
	}
}

// TestNaN holds what comparisons and maxima make of it.
func TestNaN(t *testing.T) {
	nan := math.NaN()
	for name, want := range map[string]float64{"eq": 0, "ne": 1, "lt": 0, "le": 0, "gt": 0, "ge": 0, "max": nan, "min": nan} {
		e := op.Example{Args: []*tensor.Tensor{tensor.Scalar(ir.F32, nan), tensor.Scalar(ir.F32, 1)}}
		m, f, _ := single(t, op.Lookup(name), e)
		if got := run(t, m, f, e.Args, eval.Options{})[0].Data[0]; got != want && (got == got || want == want) {
			t.Errorf("%s(NaN, 1) = %v, want %v", name, got, want)
		}
	}
}

// TestViews compares each view with the evaluation it stands for, of dense
// buffers and of views of views.
func TestViews(t *testing.T) {
	keep := func(d *op.Def) bool { return d.View != nil }
	cases(t, 60, keep, func(t *testing.T, d *op.Def, e op.Example) {
		m, f, o := single(t, d, e)
		want := run(t, m, f, e.Args, eval.Options{Exact: true})[0]
		x := e.Args[0]
		// The operand in a buffer with gaps, at an offset, in another order.
		r := rand.New(rand.NewSource(1))
		in := op.Strided{Offset: 3, Axes: make([]op.StridedAxis, x.Type.Rank())}
		n := 2
		for _, i := range r.Perm(x.Type.Rank()) {
			a := x.Type.Axes[i]
			in.Axes[i] = op.StridedAxis{Name: a.Name, Size: a.Size, Stride: n}
			n *= a.Size
		}
		buffer := make([]float64, 3+n)
		visit(x.Type.Axes, coord{}, func(c coord) { buffer[address(in, c)] = at(x, c) })
		for k, v := range []struct {
			in     op.Strided
			buffer []float64
		}{{op.Dense(x.Type), x.Data}, {in, buffer}} {
			out, ok := op.View(o, v.in)
			if !ok {
				if k == 0 {
					t.Errorf("a dense operand has no view")
				}
				continue // a merge of axes that are not neighbours
			}
			if len(out.Axes) != want.Type.Rank() {
				t.Fatalf("view %+v of %s", out, want.Type)
			}
			for i, a := range want.Type.Axes {
				if out.Axes[i].Name != a.Name || out.Axes[i].Size != a.Size {
					t.Fatalf("view %+v of %s", out, want.Type)
				}
			}
			visit(want.Type.Axes, coord{}, func(c coord) {
				if g := v.buffer[address(out, c)]; g != at(want, c) {
					t.Errorf("view at %v is %v, want %v", c, g, at(want, c))
				}
			})
		}
	})
}

func address(v op.Strided, c coord) int {
	i := v.Offset
	for _, a := range v.Axes {
		i += a.Stride * c[a.Name]
	}
	return i
}
