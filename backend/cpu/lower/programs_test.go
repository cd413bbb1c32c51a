package lower

import (
	"math/rand"
	"os"
	"testing"

	"ptc/backend/kernel/kerneltest"
	"ptc/backend/tile"
	"ptc/backend/tile/tiletest"
	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
)

// Programs with products inside of loops, ifs, bounds that are computed, and tiles that
// do not fit into registers store what their interpreter says.
func TestPrograms(t *testing.T) {
	for _, name := range []string{"attention", "softmax", "various", "bounds", "reversed"} {
		dir := "../../tile/testdata/"
		if name == "bounds" || name == "reversed" {
			dir = "testdata/"
		}
		text, err := os.ReadFile(dir + name + ".tile")
		if err != nil {
			t.Fatal(err)
		}
		p, err := tile.Parse(string(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := tile.Verify(p); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, m := range machines {
			all, err := Kernels(p, m)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			r := rand.New(rand.NewSource(5))
			var bufs [][]byte
			var mem []*tiletest.Memory
			for _, b := range p.Buffers {
				x := tensor.New(ir.Type{DType: b.DType, Axes: []ir.Axis{{Name: "n", Size: int(b.Len)}}})
				for i := range x.Data {
					if x.Data[i] = 2*r.Float64() - 1; b.DType.IsInt() {
						x.Data[i] = float64(r.Intn(12) - 1)
					}
				}
				x.Round()
				bytes := make([]byte, x.Type.Bytes())
				x.Put(bytes)
				bufs = append(bufs, bytes)
				if b.Use != tile.Work {
					mem = append(mem, tiletest.Holding(x))
				}
			}
			if err := (tiletest.Options{}).Run(p, mem); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, k := range all {
				if err := kerneltest.Interpret(k, bufs, 0, k.Tasks); err != nil {
					t.Fatalf("%s: %v\n%s", name, err, k)
				}
			}
			for i, x := range mem {
				b := p.Buffers[i]
				got := tensor.New(ir.Type{DType: b.DType, Axes: []ir.Axis{{Name: "n", Size: int(b.Len)}}})
				got.Get(bufs[i])
				if _, d := irtest.Worst(got, &tensor.Tensor{Type: got.Type, Data: x.Data}); !(d < 1e-4) {
					t.Errorf("%s: %s differs by %g for %d bits", name, b.Name, d, m.VectorBits)
				}
			}
		}
	}
}
