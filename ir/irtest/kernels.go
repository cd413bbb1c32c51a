package irtest

import (
	"math"
	"math/rand"

	"ptc/ir"
	"ptc/ir/tensor"
)

// Arguments are values for f's arguments, drawn from a seed.
func Arguments(f *ir.Func, seed int64) []*tensor.Tensor {
	r := rand.New(rand.NewSource(seed))
	args := make([]*tensor.Tensor, len(f.Args))
	for i, a := range f.Args {
		args[i] = Draw(r, a.Value.Type)
	}
	return args
}

// Draw is a tensor of numbers from a half to three halves, of which every function has a
// value, and of indices a little beyond a range.
func Draw(r *rand.Rand, t ir.Type) *tensor.Tensor {
	x := tensor.New(t)
	for i := range x.Data {
		switch t.DType {
		case ir.I32:
			x.Data[i] = float64(r.Intn(12) - 1)
		case ir.Bool:
			x.Data[i] = float64(r.Intn(2))
		default:
			x.Data[i] = 0.5 + r.Float64()
		}
	}
	return x.Round()
}

// Worst is the largest difference of got from want, relative to the larger of the value
// and the root mean square of all that are finite, and where it is. What is not a number
// in both does not differ.
func Worst(got, want *tensor.Tensor) (at int, diff float64) {
	var sum float64
	n := 0
	for _, v := range want.Data {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			sum += v * v
			n++
		}
	}
	rms := math.Sqrt(sum/float64(max(n, 1))) + 1e-30
	for i, v := range want.Data {
		d := math.Abs(got.Data[i]-v) / math.Max(rms, math.Abs(v))
		if got.Data[i] == v || math.IsNaN(got.Data[i]) && math.IsNaN(v) {
			d = 0
		}
		if math.IsNaN(d) {
			d = math.Inf(1)
		}
		if d > diff {
			at, diff = i, d
		}
	}
	return at, diff
}

// OnDevices is a module of the kernel function f on a mesh of 2 x 3 devices, and each
// one's arguments: the last has its coordinates, the others are shared.
func OnDevices(f *ir.Func, seed int64) (*ir.Module, [][]*tensor.Tensor) {
	m := &ir.Module{Level: ir.Fused, Funcs: []*ir.Func{f}, Mesh: []ir.MeshAxis{{Name: "dp", Size: 2}, {Name: "tp", Size: 3}}}
	shared := Arguments(f, seed)
	last := len(shared) - 1
	var args [][]*tensor.Tensor
	for d := range m.Devices() {
		mine := append([]*tensor.Tensor(nil), shared...)
		mine[last] = tensor.New(f.Args[last].Value.Type)
		mine[last].Data[0], mine[last].Data[1] = float64(d/3), float64(d%3)
		args = append(args, mine)
	}
	return m, args
}

// DeviceKernels are texts of kernel functions that depend on the device, for the mesh of
// [OnDevices].
var DeviceKernels = []string{`func @k class=kernel mesh={dp=2, tp=3}
  arg %0 : f32[b=4@dp, c=7@tp] in
  arg %1 : i32[mesh=2] in "coord"
  %2 : i32[c=7@tp] = index axis=c mesh=(tp) size=7
  %3 : f32[c=7@tp] = cast %2 to=f32
  %4 : f32[b=4@dp, c=7@tp] = add %0, %3
  %5 : i32[] = coordinate over=(dp, tp)
  %6 : f32[] = cast %5 to=f32
  %7 : f32[b=4@dp, c=7@tp] = mul %4, %6
  result %7 out
end
`, `func @k class=kernel kind=horizontal mesh={dp=2, tp=3}
  arg %0 : f32[b=4@dp] in
  arg %1 : i32[mesh=2] in "coord"
  %2 : i32[c=7@tp] = index axis=c mesh=(tp) size=7
  %3 : f32[c=7@tp] = cast %2 to=f32
  %4 : f32[b=4@dp] = neg %0
  %5 : i32[] = coordinate over=(dp, tp)
  %6 : f32[] = cast %5 to=f32
  result %3 out
  result %6 out
  result %4 out
end
`, `func @k class=kernel mesh={dp=2, tp=3}
  arg %0 : i32[] in
  arg %1 : i32[] in
  arg %2 : i32[mesh=2] in "coord"
  %3 : f32[b=4@dp, c=7@tp] = random %0, %1 axes={b=4, c=7} dist=uniform mesh={b:dp, c:tp} site=5
  result %3 out
end
`, `func @k class=kernel mesh={dp=2, tp=3}
  arg %0 : f32[b=4@dp, s=7@tp, d=5] in
  arg %1 : f32[b=4@dp, t=21, d=5] in
  arg %2 : i32[mesh=2] in "coord"
  %3 : f32[b=4@dp, s=7@tp, t=21] = dot %0, %1 over=(d)
  %4 : i32[s=7@tp] = index axis=s mesh=(tp) size=7
  %5 : i32[t=21] = index axis=t size=21
  %6 : bool[s=7@tp, t=21] = ge %4, %5
  %7 : f32[] = const dtype=f32 value=-inf
  %8 : f32[b=4@dp, s=7@tp, t=21] = select %6, %3, %7
  %9 : f32[b=4@dp, s=7@tp] = reduce_max %8 over=(t)
  %10 : f32[b=4@dp, s=7@tp, t=21] = sub %8, %9
  %11 : f32[b=4@dp, s=7@tp, t=21] = exp %10
  %12 : f32[b=4@dp, s=7@tp] = reduce_sum %11 over=(t)
  %13 : f32[b=4@dp, s=7@tp, t=21] = div %11, %12
  %14 : f32[b=4@dp, s=7@tp, d=5] = dot %13, %1 out=(b, s, d) over=(t)
  result %14 out
end
`, `func @k class=kernel mesh={dp=2, tp=3}
  arg %0 : f32[v=4@tp, e=5] in
  arg %1 : i32[b=3@dp] in
  arg %2 : i32[mesh=2] in "coord"
  %3 : f32[b=3@dp, e=5] = gather %0, %1 axis=v
  result %3 out
end
`, `func @k class=kernel mesh={dp=2, tp=3}
  arg %0 : f32[b=3@dp, e=5] in
  arg %1 : i32[b=3@dp] in
  arg %2 : i32[mesh=2] in "coord"
  %3 : f32[v=4@tp, e=5] = scatter_add %0, %1 axis=v out={v=4, e=5}
  result %3 out
end
`, `func @k class=kernel mesh={dp=2, tp=3}
  arg %0 : i32[] in
  arg %1 : i32[] in
  arg %2 : i32[] in
  arg %3 : i32[] in
  arg %4 : i32[mesh=2] in "coord"
  %5 : f32[b=4@dp, c=7] = random %0, %1, %2, %3 axes={b=4, c=7} dist=normal each=11 first=[0, 2] mesh={b:dp} moves=c site=4294967299 whole=[8, 20]
  result %5 out
end
`, `func @k class=kernel mesh={dp=2, tp=3}
  arg %0 : f32[v=1@tp, e=5] in
  arg %1 : i32[b=3@dp] in
  arg %2 : i32[mesh=2] in "coord"
  %3 : f32[b=3@dp, e=5] = gather %0, %1 axis=v
  result %3 out
end
`}
