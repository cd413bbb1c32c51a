package gpu_test

import (
	"fmt"
	"strings"
	"testing"

	"ptc/backend/gpu"
	"ptc/backend/gpu/target"
	"ptc/ir"
	"ptc/ir/fusion"
)

// reductions is a kernel that sums n multiples of a matrix over rows or columns.
func reductions(n, rows, cols int, over string, d string) string {
	var b, results strings.Builder
	kept := map[string]string{"c": fmt.Sprintf("r=%d", rows), "r": fmt.Sprintf("c=%d", cols)}[over]
	fmt.Fprintf(&b, "ptir 1 fused \"\"\n\nfunc @k class=kernel kind=row\n  arg %%0 : %s[r=%d, c=%d] in\n", d, rows, cols)
	fmt.Fprintf(&b, "  %%1 : f32[r=%d, c=%d] = cast %%0 to=f32\n", rows, cols)
	for i := range n {
		v := 2 + 3*i
		fmt.Fprintf(&b, "  %%%d : f32[] = const dtype=f32 value=%d.0\n", v, i+2)
		fmt.Fprintf(&b, "  %%%d : f32[r=%d, c=%d] = mul %%1, %%%d\n", v+1, rows, cols, v)
		fmt.Fprintf(&b, "  %%%d : f32[%s] = reduce_sum %%%d over=(%s)\n", v+2, kept, v+1, over)
		fmt.Fprintf(&results, "  result %%%d out\n", v+2)
	}
	return b.String() + results.String() + "end\n"
}

// The schedule of every kernel takes what a block of the target has, however long its
// rows are and however many of them are reduced at once.
func TestKernelsFit(t *testing.T) {
	for _, c := range []struct{ n, rows, cols int }{
		{1, 1, 1}, {1, 1, 65024}, {1, 1, 128256}, {1, 1, 262145}, {3, 1, 8193}, {3, 2, 8192}, {3, 4096, 8191},
		{2, 4096, 1000}, {2, 4096, 31}, {2, 7, 201088}, {64, 1, 2048}, {64, 513, 130}, {254, 1, 8192}, {254, 300, 33},
	} {
		for _, over := range []string{"r", "c"} {
			for _, d := range []string{"f32", "bf16"} {
				if c.n > 3 && d == "bf16" { // as of f32
					continue
				}
				m, errs := ir.Parse("k.ptir", []byte(reductions(c.n, c.rows, c.cols, over, d)))
				if len(errs) > 0 {
					t.Fatal(errs)
				}
				f := m.Funcs[0]
				k, err := fusion.Analyze(f)
				if err != nil {
					t.Fatalf("%+v: %v", c, err)
				}
				f.Attrs = f.Attrs.With("kind", ir.Name(string(k.Class)))
				for _, name := range []string{"cuda:sm_80", "cuda:sm_89", "cuda:sm_90a"} {
					to, err := target.Resolve(name)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := gpu.Kernel(f, to, nil); err != nil {
						t.Errorf("%+v over %s of %s (%s): %v", c, over, d, k.Class, err)
					}
				}
			}
		}
	}
}
