package random

import (
	"flag"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"ptc/backend/cpu/llvm"
	"ptc/bench/matrix"
	"ptc/ir/pipeline"
)

var (
	caseCount   = flag.Int("cases", 0, "how many random cases to train (default few enough for every change)")
	caseFrom    = flag.Uint64("from", 1, "the first seed of random cases")
	printCases  = flag.Bool("print", false, "with -v: print the program of every random case")
	keepFailing = flag.Bool("whole", false, "report failing cases as they are, not made smaller")
)

// TestRandomLayouts: random models under random layouts are what one device
// computes, in f64.
func TestRandomLayouts(t *testing.T) {
	compare(t, matrix.Target{Name: "ref:f64", Tolerance: 1e-10}, 56, New)
}

// TestRandomLayoutsNatively is the same for native code in f32.
func TestRandomLayoutsNatively(t *testing.T) {
	if _, err := llvm.Load(); err != nil {
		if os.Getenv(llvm.EnvLLVM) == "none" {
			t.Skip("PTC_LLVM=none: native code is not made here, ref stands in")
		}
		t.Fatal(err)
	}
	compare(t, matrix.Target{Name: "cpu", Tolerance: 1e-5}, 8, func(seed uint64) *Case { return New(seed + 1<<32).Smooth() })
}

// compare runs -cases cases, or few, as many at a time as there are processors.
func compare(t *testing.T, target matrix.Target, few int, of func(seed uint64) *Case) {
	n := *caseCount
	if n < 1 {
		n = few
	}
	var refused, several atomic.Int64
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error {
			c := of(*caseFrom + uint64(i))
			r := c.Run(target)
			if *printCases {
				t.Logf("%s\n%s", c.Source(), r)
			}
			if c.Devices() > 1 {
				several.Add(1)
			}
			switch {
			case r.Refused != "":
				if !c.mayRefuse(r.Refused) {
					refused.Add(1)
				}
				t.Logf("seed %d is refused: %s", c.Seed, r.Refused)
			case !r.OK():
				small := c
				if !*keepFailing {
					small = c.Minimize(target)
				}
				t.Errorf("seed %d, %d devices: %s\nmade small:\n%s\n%s\n%s", c.Seed, c.Devices(), r.Result, small.Source(), small.Run(target).Result, small.Blame())
			}
			return nil
		})
	}
	_ = group.Wait() // each case has reported its failure
	t.Logf("%d cases, %d refused", n, refused.Load())
	if int(refused.Load())*10 > n {
		t.Errorf("%d of %d layouts are refused: the generator is to make legal ones", refused.Load(), n)
	}
	if int(several.Load())*10 < n*8 {
		t.Errorf("%d of %d cases have several devices", several.Load(), n)
	}
}

// TestKindsOccur: among the first cases is everything that the generator knows,
// and a seed gives the same text again.
func TestKindsOccur(t *testing.T) {
	var all strings.Builder
	for seed := range uint64(300) {
		text := New(seed + 1).Source()
		if text != New(seed+1).Source() {
			t.Fatalf("seed %d gives two programs", seed+1)
		}
		all.WriteString(text)
	}
	for _, name := range pipeline.Names() {
		if !strings.Contains(all.String(), "schedule = "+name+" ") {
			t.Errorf("no case has schedule %s", name)
		}
	}
	for _, kind := range []string{
		"nn.CausalAttention", "nn.GroupedQueryAttention", "mix : Own", "mix : Shift", "mix : Running", "mix : Tokens",
		"nn.MLP", "nn.SwiGLU", "nn.MoE", "ffn : Low", "nn.LayerNorm", "nn.RMSNorm", "nn.Dropout", "nn.Embedding", "param wpe", ", wte, over",
		"optim.AdamW", "optim.Adam(", "optim.SGD", "optim.Lion", "optim.SignEC", "Layerwise(", "Trust(", "Largest(", "param gain", "idle : nn", "param many", "param whole", "where(tokens % 3 == 0", "clip", "weight_decay", "no_decay", "freeze", "cast(target % 3 != 0, f32)", "random_uniform(cast(target, f32))",
		"r[two = 0] - r[two = 1]", "merge(batch = (pairs, two))", "merge(rows = ", "r[batch = 0..n]", "concat(r, 2 * r", "cumsum(r, over = batch)", "logsumexp(z, over = other)", "r.rename(batch = other)[other = ",
		"nn.cross_entropy", "nn.mse", "logsumexp", "predict = last", "synthetic_tokens", "data.synthetic(",
		"chunks = 2", "chunks = 3", "pipeline tail", "zero 1", "zero 2", "zero 3",
		"shard batch", "shard seq", "between Block", "shard experts", " of blocks.0", " of blocks.*", "replicate", "recompute", "accumulate = 3", "keep = [", "two_level", "offload optimizer to host", "offload activations to disk", "offload activations of ",
		"bucket", "overlap", "prefetch", "attention = ring", "attention = gather", "order = zigzag", "over (", "= 3", "= 8",
	} {
		if !strings.Contains(all.String(), kind) {
			t.Errorf("no case has %q", kind)
		}
	}
}

// TestDifferencesAreSeen: a case whose two sides are not the same program fails,
// and what is left of it is smaller and fails still.
func TestDifferencesAreSeen(t *testing.T) {
	target := matrix.Target{Name: "ref:f64", Tolerance: -1} // nothing is near enough
	c := New(3)
	if r := c.Run(target); r.OK() || r.Refused != "" {
		t.Fatalf("%v", r)
	}
	small := c.Minimize(target)
	if r := small.Run(target); r.OK() || len(small.Source()) >= len(c.Source()) {
		t.Errorf("%v, of %d bytes from %d", r, len(small.Source()), len(c.Source()))
	}
}
