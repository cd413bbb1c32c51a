package facts

import (
	"slices"
	"strings"
	"testing"

	"ptc/ir"
)

// module parses IR as it is before a model is divided among devices.
func module(t *testing.T, text string) *ir.Module {
	t.Helper()
	m, errs := ir.Parse("m.ptir", []byte(text))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return m
}

const decoder = `ptir 1 global "M"
meta instances(Block="blocks.*", Attention="blocks.*.attn")

func @step class=entry
  stack blocks count=6
  arg %0 : f32[vocab=96, embed=16] param "wte"
  arg %1 : f32[seq=8, embed=16] param "wpe"
  arg %2 : f32[embed=16] each blocks param "blocks.{i}.ln.gain"
  arg %3 : f32[embed=16, heads=4, head=4] each blocks param "blocks.{i}.attn.wq"
  arg %4 : f32[embed=16, kv=2, head=4] each blocks param "blocks.{i}.attn.wk"
  arg %5 : f32[heads=4, head=4, embed=16] each blocks param "blocks.{i}.attn.wo"
  arg %6 : f32[experts=3, embed=16, ffn=64] each blocks param "blocks.{i}.moe.w1"
  arg %7 : f32[experts=3, ffn=64, embed=16] each blocks param "blocks.{i}.moe.w2"
  arg %8 : f32[experts=3, ffn=64] each blocks param "blocks.{i}.moe.b1"
  arg %9 : f32[embed=16, gate=3] each blocks param "blocks.{i}.moe.router"
  arg %10 : f32[vocab=96, embed=16] state "wte/m"
  arg %11 : f32[vocab=96, embed=16] state "wte/v"
  arg %12 : bf16[experts=3, embed=16, ffn=64] each blocks state "blocks.{i}.moe.w1/m"
  arg %13 : i32[batch=32, seq=8] data "tokens"
end
`

// TestOf: names say what may be sharded.
func TestOf(t *testing.T) {
	x, err := Of(module(t, decoder))
	if err != nil {
		t.Fatal(err)
	}
	if x.Batch != "batch" || x.Rows != 32 || x.Sequence != "seq" || x.Positions != 8 {
		t.Errorf("data: %s %d, %s %d", x.Batch, x.Rows, x.Sequence, x.Positions)
	}
	if x.Blocks != "blocks" || x.Instances != 6 || x.Module != "Block" {
		t.Errorf("blocks: %s %d %s", x.Blocks, x.Instances, x.Module)
	}
	if x.Residual != "embed" || x.Experts != "experts" || !slices.Equal(x.Outer, []string{"vocab"}) {
		t.Errorf("residual %s, experts %s, outer %v", x.Residual, x.Experts, x.Outer)
	}
	for _, a := range []string{"heads", "kv", "ffn", "vocab"} {
		if !slices.Contains(x.Tensor, a) {
			t.Errorf("%s is no axis of tensor parallelism: %v", a, x.Tensor)
		}
	}
	for _, a := range []string{"head", "embed", "experts", "seq"} {
		if slices.Contains(x.Tensor, a) {
			t.Errorf("%s is an axis of tensor parallelism: %v", a, x.Tensor)
		}
	}
	for i := range x.Params {
		p := &x.Params[i]
		switch p.Path {
		case "wte":
			if p.Block || p.Bytes != 4 || p.States != 8 || p.Elems() != 96*16 {
				t.Errorf("%+v", p)
			}
		case "blocks.{i}.moe.w1":
			if !p.Block || p.States != 2 {
				t.Errorf("%+v", p)
			}
		}
	}
}

// TestLargeVocabulary: a vocabulary that outweighs a block by far leaves the keys and values of grouped attention among the axes of
// tensor parallelism, and many blocks leave the vocabulary there; but not the few columns of a router.
func TestLargeVocabulary(t *testing.T) {
	for vocab, want := range map[string][]string{"vocab=16384": {"vocab", "ffn", "heads", "kv"}, "vocab=96": {"ffn", "vocab", "heads", "kv"}} {
		text := strings.ReplaceAll(strings.ReplaceAll(decoder, "vocab=96", vocab), "count=6", "count=100")
		x, err := Of(module(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x.Tensor, want) {
			t.Errorf("%s: axes of tensor parallelism: %v", vocab, x.Tensor)
		}
	}
}

// TestOfNothing: what a search cannot do without is named.
func TestOfNothing(t *testing.T) {
	for text, want := range map[string]string{
		"ptir 1 global \"M\"\n": "the source has no `train` block: there is no step whose layout could be found",
		"ptir 1 global \"M\"\n\nfunc @step class=entry\n  arg %0 : f32[a=2] param \"w\"\nend\n": "the step has no data: there is no batch to divide",
	} {
		if _, err := Of(module(t, text)); err == nil || err.Error() != want {
			t.Errorf("the error is %v; want %s", err, want)
		}
	}
}
