package choose

import (
	"fmt"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/fusion"
)

// TestThreadsOfProducts: blocks are as large as leaves enough of them, and never larger than the
// product.
func TestThreadsOfProducts(t *testing.T) {
	for _, c := range []struct {
		dtype   string
		m, n, k int
		want    string
	}{
		{"bf16 groups", 8192, 8192, 4096, "rows=128 cols=256 over=64 grid=-1 raster=groups group=16 dot=wgmma(64x256x16) left=task right=task stages=4 warps=8"},
		{"f16 groups", 768, 768, 8192, "rows=64 cols=64 over=64 grid=-1 dot=wgmma(64x64x16) left=task right=task stages=4 warps=4"},
		{"bf16 groups", 2048, 2056, 40, "rows=128 cols=128 over=40 grid=-1 raster=groups group=16 dot=wgmma(64x128x16) left=task right=task stages=3 warps=8"},
		{"bf16 groups", 48, 4096, 4096, "rows=48 cols=64 over=32 grid=-1 dot=mma(16x8x16) left=task right=task stages=4 warps=4"},
		{"bf16 groups", 4096, 4, 4096, "rows=64 cols=4 over=64 grid=-1 dot=wgmma(64x8x16) left=task right=task stages=4 warps=4"},
		{"f16 groups", 4096, 128, 4, "rows=64 cols=64 over=4 grid=-1 dot=wgmma(64x64x16) left=task right=task stages=4 warps=4"},
		{"bf16 groups", 128, 8, 4, "rows=64 cols=8 over=4 grid=-1 dot=wgmma(64x8x16) left=task right=task stages=4 warps=4"},
		{"bf16 special", 8192, 8192, 4096, "rows=128 cols=256 over=64 grid=-1 raster=groups group=16 dot=wgmma(64x256x16) left=task right=task stages=4 warps=8 producers=1 persistent=132"},
		{"bf16 special", 2048, 2048, 512, "rows=128 cols=128 over=64 grid=-1 dot=wgmma(64x128x16) left=task right=task stages=3 warps=8"},
		{"bf16 special", 256, 512, 4096, "rows=64 cols=64 over=64 grid=-1 dot=wgmma(64x64x16) left=task right=task stages=4 warps=4 cluster=4"},
		{"bf16 special", 128, 128, 4096, "rows=64 cols=64 over=64 grid=-1 dot=wgmma(64x64x16) left=task right=task stages=4 warps=4 cluster=8"},
		{"bf16 special", 128, 128, 960, "rows=64 cols=64 over=64 grid=-1 dot=wgmma(64x64x16) left=task right=task stages=4 warps=4 cluster=2"},
		{"bf16 special", 128, 128, 256, "rows=64 cols=64 over=64 grid=-1 dot=wgmma(64x64x16) left=task right=task stages=4 warps=4"},
		{"f32 special", 128, 128, 4096, "rows=64 cols=64 over=16 grid=-1 left=task right=task stages=3 warps=4 cluster=8"},
		{"bf16", 8192, 8192, 4096, "rows=128 cols=256 over=32 grid=-1 raster=groups group=16 dot=mma(16x8x16) left=task right=task stages=3 warps=8"},
		{"bf16", 2048, 2048, 512, "rows=128 cols=128 over=32 grid=-1 dot=mma(16x8x16) left=task right=task stages=4 warps=8"},
		{"f16", 768, 768, 8192, "rows=64 cols=64 over=32 grid=-1 dot=mma(16x8x16) left=task right=task stages=4 warps=4"},
		{"bf16", 24, 40, 20, "rows=24 cols=40 over=20 grid=-1 dot=mma(16x8x16) left=task right=task stages=4 warps=2"},
		{"bf16", 4, 4096, 4096, "rows=4 cols=32 over=128 grid=-1 left=task right=task stages=3 warps=4"},
		{"f32", 4096, 4096, 4096, "rows=128 cols=128 over=16 grid=-1 raster=groups group=16 left=task right=task stages=3 warps=8"},
		{"f32", 512, 512, 8, "rows=64 cols=64 over=8 grid=-1 left=task right=task stages=3 warps=4"},
	} {
		on := GPU{}
		if c.dtype, on.Groups = strings.CutSuffix(c.dtype, " special"); on.Groups {
			on.Tensor, on.Clusters, on.Processors = true, true, 132
		} else {
			c.dtype, on.Groups = strings.CutSuffix(c.dtype, " groups")
		}
		text := fmt.Sprintf(`ptir 1 fused ""

func @k class=kernel kind=gemm
  arg %%0 : %[1]s[m=%[2]d, k=%[4]d] in
  arg %%1 : %[1]s[k=%[4]d, n=%[3]d] in
  %%2 : f32[m=%[2]d, n=%[3]d] = dot %%0, %%1 over=(k) to=f32
  result %%2 out
end
`, c.dtype, c.m, c.n, c.k)
		m, errs := ir.Parse("k.ptir", []byte(text))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		k, err := fusion.Analyze(m.Funcs[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := Schedule(k, GPU{Groups: on.Groups, Shared: 48 << 10}); got.Stages > 2 && got.Stages*(got.Rows+got.Cols)*got.Over*int64(k.Root.Args[0].Type.DType.Size()) > 48<<10 {
			t.Errorf("%s does not fit 48 KiB", got)
		}
		if got := Schedule(k, on).String(); got != c.want {
			t.Errorf("%s %d × %d × %d: %s\nexpected %s", c.dtype, c.m, c.n, c.k, got, c.want)
		}
	}
}

// TestThreadsOfPaddedRows: rows of odd length with padding are copied as even ones are, and the last block of wide ones may lack
// a few columns.
func TestThreadsOfPaddedRows(t *testing.T) {
	const wide = "rows=128 cols=256 over=64 grid=-1 raster=groups group=16 dot=wgmma(64x256x16) left=task right=task stages=4 warps=8 producers=1 persistent=132"
	const other = "rows=128 cols=128 over=64 grid=-1 raster=groups group=16 dot=wgmma(64x128x16) left=task right=task stages=4 warps=8"
	for _, c := range []struct{ left, right, out, want string }{
		{"m=8192, k=768", "n=50257, k=768", "m=8192, n=50257+47", wide},
		{"m=8192, k=768", "n=4224, k=768", "m=8192, n=4224", strings.Replace(other, "stages=4", "stages=3", 1)}, // half a block is missing
		{"m=8192, k=50257+47", "k=50257, n=4096", "m=8192, n=4096", wide},
		{"m=8192, k=50257+6", "k=50257, n=4096", "m=8192, n=4096", other},
		{"k=8192, m=50257+47", "k=8192, n=768", "m=50257, n=768", wide},
		{"k=8192, m=50257", "k=8192, n=768", "m=50257, n=768", other},
	} {
		text := fmt.Sprintf("ptir 1 fused \"\"\n\nfunc @k class=kernel kind=gemm\n  arg %%0 : bf16[%s] in\n  arg %%1 : bf16[%s] in\n  %%2 : bf16[%s] = dot %%0, %%1 over=(k)\n  result %%2 out\nend\n",
			c.left, c.right, c.out)
		m, errs := ir.Parse("k.ptir", []byte(text))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		k, err := fusion.Analyze(m.Funcs[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := Schedule(k, GPU{Groups: true, Tensor: true, Clusters: true, Processors: 132}).String(); got != c.want {
			t.Errorf("%s by %s: %s\nexpected %s", c.left, c.right, got, c.want)
		}
	}
}
