package eval_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

func parse(t *testing.T, text string) *ir.Module {
	t.Helper()
	m, errs := ir.Parse("test.ptir", []byte(text))
	if len(errs) > 0 {
		t.Fatalf("%v", errs)
	}
	return m
}

// inputs are random arguments of f; integers are from 0 to 3.
func inputs(f *ir.Func, seed int64) []*tensor.Tensor {
	r := rand.New(rand.NewSource(seed))
	var args []*tensor.Tensor
	for _, a := range f.Args {
		x := tensor.New(a.Value.Type)
		for i := range x.Data {
			if x.Type.DType.IsFloat() {
				x.Data[i] = r.NormFloat64()
			} else {
				x.Data[i] = float64(r.Intn(4))
			}
		}
		args = append(args, x)
	}
	return args
}

const softmax = `ptir 1 global "T"

func @softmax
  arg %0 : f32[a=3, k=4] in "x"
  %1 : f32[a=3] = reduce_max %0 over=(k)
  %2 : f32[a=3, k=4] = sub %0, %1
  %3 : f32[a=3, k=4] = exp %2
  %4 : f32[a=3] = reduce_sum %3 over=(k)
  %5 : f32[a=3, k=4] = div %3, %4
  result %5 out "y"
end

func @f class=entry
  arg %0 : f32[a=3, k=4] data "x"
  %1 : f32[a=3, k=4] = call %0 fn=@softmax
  %2 : f32[a=3, k=4] = add %1, %1
  result %2 out "twice"
  result %0 out "x"
end
`

func TestCallAndResults(t *testing.T) {
	m := parse(t, softmax)
	f := m.Func("f")
	x := inputs(f, 1)
	var seen []string
	res, err := eval.Func(m, f, x, eval.Options{Hook: func(d int, f *ir.Func, o *ir.Op, r []*tensor.Tensor) error {
		seen = append(seen, fmt.Sprint(d, f.Name, ".", o.Name, len(r)))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := "0softmax.reduce_max1 0softmax.sub1 0softmax.exp1 0softmax.reduce_sum1 0softmax.div1 0f.call1 0f.add1"
	if got := strings.Join(seen, " "); got != want {
		t.Errorf("hook saw %s, want %s", got, want)
	}
	for a := 0; a < 3; a++ {
		sum := 0.0
		for k := 0; k < 4; k++ {
			sum += res[0].Data[a*4+k]
		}
		if math.Abs(sum-2) > 1e-6 {
			t.Errorf("row %d sums to %v", a, sum)
		}
	}
	for i, v := range res[1].Data {
		if v != float64(float32(x[0].Data[i])) {
			t.Errorf("the argument is not rounded to f32: %v", v)
		}
	}
}

func TestExactAndRounded(t *testing.T) {
	m := parse(t, `ptir 1 global "T"

func @f
  arg %0 : bf16[] in "x"
  %1 : bf16[] = mul %0, %0
  result %1 out "y"
end
`)
	x := []*tensor.Tensor{tensor.Scalar(ir.BF16, 1+1.0/128)}
	for _, c := range []struct {
		opts eval.Options
		want float64
	}{
		// (1 + 2^-7)^2 = 1 + 2^-6 + 2^-14, whose last term bf16 drops.
		{eval.Options{}, 1 + 1.0/64},
		{eval.Options{Exact: true}, 1 + 1.0/64 + 1.0/(1<<14)},
	} {
		res, err := eval.Func(m, m.Funcs[0], x, c.opts)
		if err != nil || res[0].Data[0] != c.want {
			t.Errorf("%+v: %v (%v), want %v", c.opts, res, err, c.want)
		}
	}
	if x[0].Data[0] != 1+1.0/128 {
		t.Error("evaluation changed its argument")
	}
}

// TestGradByDifferences compares with the derivative worked out by hand;
// detach makes its operand a constant.
func TestGradByDifferences(t *testing.T) {
	m := parse(t, `ptir 1 global "T"

func @f
  arg %0 : f32[a=3] in "x"
  arg %1 : f32[] in "c"
  %2 : f32[a=3] = mul %0, %0
  %3 : f32[a=3] = detach %0
  %4 : f32[a=3] = mul %2, %3
  %5 : f32[a=3] = mul %4, %1
  %6 : f32[] = reduce_sum %5 over=(a)
  %7 : f32[a=3], %8 : f32[], %9 : f32[a=3] = grad %6, %0, %1, %4
  result %7 out "x"
  result %8 out "c"
  result %9 out "inner"
end
`)
	x := &tensor.Tensor{Type: m.Funcs[0].Args[0].Value.Type, Data: []float64{1, -2, 0.5}}
	res, err := eval.Func(m, m.Funcs[0], []*tensor.Tensor{x, tensor.Scalar(ir.F32, 3)}, eval.Options{Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	// loss = c sum x^2 d with d = x held: 2 c x d; sum x^2 d; c.
	want := [][]float64{{6, 24, 1.5}, {1 - 8 + 0.125}, {3, 3, 3}}
	for i, w := range want {
		if d := tensor.RelDiffOf(res[i].Data, w); d > 1e-8 {
			t.Errorf("gradient %d is %v, want %v", i, res[i].Data, w)
		}
	}
}

func TestGradByDifferencesIsBounded(t *testing.T) {
	m := parse(t, `ptir 1 global "T"

func @f
  arg %0 : f32[a=4097] in "x"
  %1 : f32[] = reduce_sum %0 over=(a)
  %2 : f32[a=4097] = grad %1, %0
  result %2 out "x"
end
`)
	_, err := eval.Func(m, m.Funcs[0], inputs(m.Funcs[0], 1), eval.Options{})
	if err == nil || !strings.Contains(err.Error(), "4097 elements is too large") {
		t.Errorf("error %v", err)
	}
}

func TestErrorsNameTheOperation(t *testing.T) {
	m := parse(t, softmax)
	f := m.Func("f")
	stop := errors.New("enough")
	_, err := eval.Func(m, f, inputs(f, 1), eval.Options{Hook: func(_ int, _ *ir.Func, o *ir.Op, _ []*tensor.Tensor) error {
		if o.Name == "exp" {
			return stop
		}
		return nil
	}})
	if !errors.Is(err, stop) || !strings.Contains(err.Error(), "@softmax: %3 = exp") {
		t.Errorf("error %v", err)
	}
	if _, err := eval.Func(m, f, nil, eval.Options{}); err == nil {
		t.Error("missing arguments were accepted")
	}
	if _, err := eval.Func(m, f, []*tensor.Tensor{tensor.Scalar(ir.F32, 1)}, eval.Options{}); err == nil {
		t.Error("an argument of another type was accepted")
	}
}

// A column- and row-parallel pair of products (Shoeybi et al., "Megatron-LM",
// 2019, section 3) with the batch over dp, on four devices.
const (
	mlp = `ptir 1 global "T"

func @f
  arg %0 : f32[batch=4, embed=6] data "x"
  arg %1 : f32[embed=6, ffn=8] param "w1"
  arg %2 : f32[ffn=8, embed=6] param "w2"
  arg %3 : i32[] seed
  arg %4 : i32[] step
  %5 : f32[batch=4, ffn=8] = dot %0, %1 over=(embed)
  %6 : f32[batch=4, ffn=8] = random %3, %4 axes={batch=4, ffn=8} dist=uniform site=3
  %7 : f32[batch=4, ffn=8] = mul %5, %6
  %8 : f32[batch=4, embed=6] = dot %7, %2 over=(ffn)
  result %8 out "y"
end
`
	mlpLocal = `ptir 1 local "T"
mesh dp=2, tp=2

func @f
  arg %0 : f32[batch=2@dp, embed=6] data "x"
  arg %1 : f32[embed=6, ffn=4@tp] param "w1"
  arg %2 : f32[ffn=4@tp, embed=6] param "w2"
  arg %3 : i32[] seed
  arg %4 : i32[] step
  %5 : f32[batch=2@dp, ffn=4@tp] = dot %0, %1 over=(embed)
  %6 : f32[batch=2@dp, ffn=4@tp] = random %3, %4 axes={batch=2, ffn=4} dist=uniform mesh={batch:dp, ffn:tp} site=3
  %7 : f32[batch=2@dp, ffn=4@tp] = mul %5, %6
  %8 : f32[batch=2@dp, embed=6] partial(tp) = dot %7, %2 over=(ffn)
  %9 : f32[batch=2@dp, embed=6] = all_reduce %8 over=(tp) reduce=sum
  result %9 out "y"
end
`
)

func TestDevicesComputeTheGlobalFunction(t *testing.T) {
	global, local := parse(t, mlp), parse(t, mlpLocal)
	args := inputs(global.Funcs[0], 5)
	want, err := eval.Func(global, global.Funcs[0], args, eval.Options{Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eval.Func(local, local.Funcs[0], args, eval.Options{}); err == nil {
		t.Error("a local function ran on one device")
	}
	parts, err := eval.ShardArgs(local, local.Funcs[0], args)
	if err != nil {
		t.Fatal(err)
	}
	res, err := eval.Devices(local, local.Funcs[0], parts, eval.Options{Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := eval.AssembleResults(local, local.Funcs[0], res)
	if err != nil {
		t.Fatal(err)
	}
	if d, _ := eval.Worst(want, got); d > 1e-14 {
		t.Errorf("the devices' result differs by %g", d)
	}
	// Without the exchange the result is another: the comparison can fail.
	bare := parse(t, strings.Replace(mlpLocal, "result %9", "result %8", 1))
	bare.Funcs[0].Results[0].Value.Type.Partial = nil
	res, err = eval.Devices(bare, bare.Funcs[0], parts, eval.Options{Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eval.AssembleResults(bare, bare.Funcs[0], res); err == nil {
		t.Error("replicas that differ were assembled")
	}
}

func TestDeviceErrorEndsAll(t *testing.T) {
	m := parse(t, mlpLocal)
	parts, err := eval.ShardArgs(m, m.Funcs[0], inputs(parse(t, mlp).Funcs[0], 5))
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("enough")
	_, err = eval.Devices(m, m.Funcs[0], parts, eval.Options{Hook: func(d int, _ *ir.Func, o *ir.Op, _ []*tensor.Tensor) error {
		if d == 2 && o.Name == "mul" {
			return stop
		}
		return nil
	}})
	if !errors.Is(err, stop) || !strings.Contains(err.Error(), "device 2") {
		t.Errorf("error %v", err)
	}
}

// TestPrograms passes a value down a pipeline of two stages that execute
// different functions.
func TestPrograms(t *testing.T) {
	m := parse(t, `ptir 1 local "T"
mesh pp=2

func @first
  arg %0 : f32[a=2] in "x"
  %1 : f32[a=2] = exp %0
  %2 : f32[a=2] = permute %1 over=(pp) sources=[-1, 0]
  result %2 out "y"
end

func @second
  arg %0 : f32[a=2] in "x"
  %1 : f32[a=2] = permute %0 over=(pp) sources=[-1, 0]
  %2 : f32[a=2] = neg %1
  result %2 out "y"
end
`)
	x := &tensor.Tensor{Type: m.Funcs[0].Args[0].Value.Type, Data: []float64{0, 1}}
	res, err := eval.Programs(m, m.Funcs, [][]*tensor.Tensor{{x}, {x}}, eval.Options{Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	if tensor.RelDiffOf(res[1][0].Data, []float64{-1, -math.E}) > 1e-15 || tensor.RelDiffOf(res[0][0].Data, []float64{0, 0}) != 0 {
		t.Errorf("the stages gave %v and %v", res[0][0].Data, res[1][0].Data)
	}
}

// TestCollectives runs each collective over two mesh axes (or one) of a mesh
// of 2×2×2 and compares with what its documentation says.
func TestCollectives(t *testing.T) {
	mesh := []ir.MeshAxis{{Name: "x", Size: 2}, {Name: "y", Size: 2}, {Name: "z", Size: 2}}
	axis := func(n string, size int, mesh ...string) ir.Axis { return ir.Axis{Name: n, Size: size, Mesh: mesh} }
	both := ir.A("over", ir.Names{"z", "x"}, "parts", ir.Int(4))
	for _, c := range []struct {
		name  string
		in    ir.Type
		attrs ir.Attrs
		// of says, from everyone's operands of the group in order and the own
		// place, what device should get.
		of func(all []*tensor.Tensor, me int) []float64
	}{
		{"all_reduce", ir.Type{Axes: []ir.Axis{axis("a", 4)}}, ir.A("over", ir.Names{"z", "x"}, "reduce", ir.Name("sum")),
			func(all []*tensor.Tensor, me int) []float64 { return total(all) }},
		{"all_gather", ir.Type{Axes: []ir.Axis{axis("b", 2), axis("a", 3, "y", "z", "x")}}, both.With("axis", ir.Name("a")),
			func(all []*tensor.Tensor, me int) (out []float64) {
				for b := 0; b < 2; b++ {
					for _, x := range all {
						out = append(out, x.Data[3*b:3*b+3]...)
					}
				}
				return out
			}},
		{"reduce_scatter", ir.Type{Axes: []ir.Axis{axis("a", 8)}}, both.With("axis", ir.Name("a")).With("reduce", ir.Name("sum")),
			func(all []*tensor.Tensor, me int) []float64 { return total(all)[2*me : 2*me+2] }},
		{"all_to_all", ir.Type{Axes: []ir.Axis{axis("a", 1, "z", "x"), axis("b", 4)}}, both.With("axis", ir.Name("a")).With("to", ir.Name("b")),
			func(all []*tensor.Tensor, me int) (out []float64) {
				for _, x := range all {
					out = append(out, x.Data[me])
				}
				return out
			}},
		{"shard_slice", ir.Type{Axes: []ir.Axis{axis("a", 8, "y")}}, both.With("axis", ir.Name("a")),
			func(all []*tensor.Tensor, me int) []float64 { return all[me].Data[2*me : 2*me+2] }},
		{"permute", ir.Type{Axes: []ir.Axis{axis("a", 2)}}, ir.A("over", ir.Names{"z"}, "sources", ir.Ints{1, -1}),
			func(all []*tensor.Tensor, me int) []float64 {
				if me == 0 {
					return all[1].Data
				}
				return []float64{0, 0}
			}},
	} {
		c.in.DType = ir.F32
		f := &ir.Func{Name: "f"}
		m := &ir.Module{Name: "T", Level: ir.Local, Mesh: mesh, Funcs: []*ir.Func{f}}
		b := &op.Builder{F: f}
		out := b.Emit(c.name, c.attrs, f.AddArg(c.in, ir.RoleIn, "x", nil, b.Pos))
		f.Results = []ir.Result{{Value: out, Role: ir.RoleOut}}
		r := rand.New(rand.NewSource(1))
		args := make([][]*tensor.Tensor, m.Devices())
		for d := range args {
			x := tensor.New(c.in)
			for i := range x.Data {
				x.Data[i] = float64(r.Intn(1000))
			}
			args[d] = []*tensor.Tensor{x}
		}
		res, err := eval.Devices(m, f, args, eval.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for d := range args {
			all, me := groupOf(m, c.attrs.Names("over"), d, args)
			want := c.of(all, me)
			if got := res[d][0]; len(got.Data) != len(want) || tensor.RelDiffOf(got.Data, want) != 0 {
				t.Errorf("%s: device %d has %v, want %v", c.name, d, got.Data, want)
			}
		}
	}
}

// groupOf lists the operands of d's group in order, the first mesh axis of
// over major, and d's place.
func groupOf(m *ir.Module, over []string, d int, args [][]*tensor.Tensor) (all []*tensor.Tensor, me int) {
	n := 1
	for _, o := range over {
		n *= m.MeshSize(o)
	}
	all = make([]*tensor.Tensor, n)
	place := func(e int) int {
		at := 0
		for _, o := range over {
			at = at*m.MeshSize(o) + tensor.Coord(m.Mesh, e)[o]
		}
		return at
	}
	mine := tensor.Coord(m.Mesh, d)
	for e := range args {
		same := true
		for _, a := range m.Mesh {
			free := false
			for _, o := range over {
				free = free || o == a.Name
			}
			same = same && (free || tensor.Coord(m.Mesh, e)[a.Name] == mine[a.Name])
		}
		if same {
			all[place(e)] = args[e][0]
		}
	}
	return all, place(d)
}

func total(all []*tensor.Tensor) []float64 {
	out := make([]float64, len(all[0].Data))
	for _, x := range all {
		for i, v := range x.Data {
			out[i] += v
		}
	}
	return out
}
