package nest

import (
	"math/rand"
	"testing"

	"ptc/backend/tile/tiletest"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/fusion"
	"ptc/ir/tensor"
)

// Kernels that depend on the device, on every device of a mesh, are what the evaluator
// says of it.
func TestDevices(t *testing.T) {
	for _, text := range []string{`func @k class=kernel mesh={dp=2, tp=3}
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
`, `func @k class=kernel mesh={dp=2, tp=3}
  arg %0 : i32[] in
  arg %1 : i32[] in
  arg %2 : i32[mesh=2] in "coord"
  %3 : f32[b=4@dp, c=7@tp] = random %0, %1 axes={b=4, c=7} dist=uniform mesh={b:dp, c:tp} site=5
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
  arg %0 : f32[v=4@tp, e=5] in
  arg %1 : i32[b=3@dp] in
  arg %2 : i32[mesh=2] in "coord"
  %3 : f32[b=3@dp, e=5] = gather %0, %1 axis=v
  result %3 out
end
`, `func @k class=kernel mesh={dp=2, tp=3}
  arg %0 : f32[v=1@tp, e=5] in
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
`} {
		m, errs := ir.Parse("k.ptir", []byte("ptir 1 fused \"\"\n\n"+text))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		m.Mesh = []ir.MeshAxis{{Name: "dp", Size: 2}, {Name: "tp", Size: 3}}
		f := m.Funcs[0]
		shared := arguments(f, 1)
		var args [][]*tensor.Tensor
		for d := range m.Devices() {
			mine := append([]*tensor.Tensor(nil), shared...)
			last := len(mine) - 1
			mine[last] = tensor.New(f.Args[last].Value.Type)
			mine[last].Data[0], mine[last].Data[1] = float64(d/3), float64(d%3)
			args = append(args, mine)
		}
		want, err := eval.Devices(m, f, args, eval.Options{})
		if err != nil {
			t.Fatal(err)
		}
		k, err := fusion.Analyze(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range schedules(k, rand.New(rand.NewSource(2)), 3) {
			p, err := Program("k", k, s)
			if err != nil {
				t.Fatal(err)
			}
			for d := range args {
				compare(t, p, f, args[d], want[d], tiletest.Options{Seed: int64(d)}, -1, -1)
			}
		}
	}
}
