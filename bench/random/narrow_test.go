package random

import (
	"fmt"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"ptc/bench/matrix"
	"ptc/compiler"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/targetinfo"
	"ptc/passes/check"
)

// Narrow is c under a precision that is drawn as well.
func (c *Case) Narrow() *Case {
	s := *c
	d := newDice(c.Seed + 1<<34)
	options := []string{"compute = " + d.one("bf16", "bf16", "bf16", "f16", "f16", "f32")}
	half := !strings.HasSuffix(options[0], "f32")
	if d.chance(0.4) || !half {
		options = append(options, "params = "+d.one("bf16", "bf16", "f16"))
	}
	if d.chance(0.4) {
		options = append(options, "reduce = bf16")
	}
	switch {
	case strings.HasSuffix(options[0], "f16") && !strings.HasSuffix(options[0], "bf16") && d.chance(0.5):
		options = append(options, "loss_scale = "+d.one("64", "1024"))
	case half && d.chance(0.3):
		options = append(options, "products = f8")
	}
	s.l.directives = append(slices.Clone(c.l.directives), "precision { "+strings.Join(options, "  ")+" }")
	return &s
}

// steady reports whether small changes of what c computes make small changes of its
// gradients. Choosing experts, or the largest of several positions, is not, nor is the gradient of
// relu, which jumps where an input crosses 0.
func (c *Case) steady() bool {
	jumps := func(s stack) bool { return s.ffn == "mlp" && s.act == "relu" }
	return !c.m.has("moe") && c.m.pool != "max" && !slices.ContainsFunc(c.m.stacks, jumps)
}

// snapshots are the modules of one compilation: before narrow dtypes, with them on
// one device, and as planned for all devices.
type snapshots struct{ wide, narrow, planned *ir.Module }

// compile compiles the layout and keeps the modules.
func (c *Case) compile() (s snapshots, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	keep := map[string]**ir.Module{"cleanup": &s.wide, "precision": &s.narrow, "order": &s.planned}
	hook := func(_ int, name string, text func() string, _ time.Duration) error {
		if at := keep[name]; at != nil {
			m, errs := ir.Parse(name, []byte(text()))
			if errs.Err() == nil {
				*at = m.Unrolled()
			}
			return errs.Err()
		}
		return nil
	}
	_, _, err = compiler.Compile(compiler.Options{File: "case.ptl", Source: []byte(c.Source()), Layout: "many", Target: "ref", VerifyEach: true,
		Chunk: &targetinfo.Chunk{Bytes: 1, Rows: 16, Most: 4}, Hooks: []compiler.Hook{hook}})
	return s, err
}

// Verify executes the modules of the layout and compares. In float64 narrow dtypes
// and a layout change nothing: all results agree to 1e-9. As the dtypes round, the
// layout is as far from float64 as rounding takes one device: package check measures it. Where a
// fixed scale of the loss takes gradients beyond f16's range, as it does on one device, the layout is
// compared with a scale of 1.
func (c *Case) Verify() Result {
	r := c.verify()
	if scale := c.scale(); r.Err == nil && r.Worst == math.MaxFloat64 && scale != "" {
		x := *c
		last := len(c.l.directives) - 1
		x.l.directives = slices.Clone(c.l.directives)
		x.l.directives[last] = strings.Replace(x.l.directives[last], scale, "loss_scale = 1", 1)
		return x.verify()
	}
	return r
}

// scale is the fixed scale of the loss, as it is written, or empty.
func (c *Case) scale() string {
	if n := len(c.l.directives); n > 0 {
		return fixedScale.FindString(c.l.directives[n-1])
	}
	return ""
}

var fixedScale = regexp.MustCompile(`loss_scale = \d\d+`)

func (c *Case) verify() (r Result) {
	s, err := c.compile()
	if err != nil {
		if l, ok := diag.As(err); ok && clear(l) {
			return Result{Refused: l[0].Error()}
		}
		return Result{Result: matrix.Result{Err: err}}
	}
	r.Devices = c.Devices()
	c.hold(s, &r)
	return r
}

// hold compares the modules, each with the one before.
func (c *Case) hold(s snapshots, r *Result) {
	k := check.New(int64(c.Seed))
	for i, m := range []*ir.Module{s.wide, s.narrow, s.planned} {
		if r.Err = k.Hook(i, []string{"cleanup", "precision", "order"}[i], m, 0); r.Err != nil {
			return
		}
	}
	for _, row := range k.Report.Rows {
		if row.Kind == "rounded" && !c.steady() {
			continue
		}
		r.Worst = max(r.Worst, row.Diff)
		if !row.OK {
			r.Diffs = append(r.Diffs, fmt.Sprintf("%s, %s: %s by %.1e, allowed %.1e", row.Pass, row.Kind, row.Worst, row.Diff, row.Tol))
		}
	}
}

// TestRandomPrecisions: random models under random layouts and precisions are what one
// device computes, in float64 and as the dtypes round.
func TestRandomPrecisions(t *testing.T) {
	n := *caseCount
	if n < 1 {
		n = 24
	}
	var refused atomic.Int64
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error {
			c := New(*caseFrom + uint64(i) + 1<<35).Smooth().Narrow()
			r := c.Verify()
			if *printCases {
				t.Logf("%s\n%s", c.Source(), r)
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
					small = c.minimize((*Case).Verify)
				}
				t.Errorf("seed %d, %d devices: %s\nmade small:\n%s\n%s", c.Seed, c.Devices(), r.Result, small.Source(), small.Verify().Result)
			}
			return nil
		})
	}
	_ = group.Wait() // each case has reported its failure
	t.Logf("%d cases, %d refused", n, refused.Load())
	if int(refused.Load())*10 > n {
		t.Errorf("%d of %d layouts are refused: the generator is to make legal ones", refused.Load(), n)
	}
}

// TestCoarserRoundingIsSeen: a plan that rounds products to eight bits is not within the
// rounding of bf16.
func TestCoarserRoundingIsSeen(t *testing.T) {
	c := New(11).Smooth()
	under := func(precision string) (*Case, snapshots) {
		x := *c
		x.l.directives = append(slices.Clone(c.l.directives), "precision { "+precision+" }")
		s, err := x.compile()
		if err != nil {
			t.Fatal(err)
		}
		return &x, s
	}
	narrow, s := under("compute = bf16")
	var same, coarser Result
	if narrow.hold(s, &same); !same.OK() {
		t.Fatalf("the same precision: %s", same.Result)
	}
	_, eight := under("compute = bf16  products = f8")
	s.planned = eight.planned
	if narrow.hold(s, &coarser); coarser.Err != nil || len(coarser.Diffs) == 0 {
		t.Errorf("products of eight bits pass for bf16: %v", coarser.Err)
	}
}

// TestRoundedSumsAreSeen: that devices round their parts of sums to bf16 explains nothing of a plan
// that rounds a whole sum, its loss, to it.
func TestRoundedSumsAreSeen(t *testing.T) {
	c := New(4).Smooth()
	c.l.directives = append(slices.Clone(c.l.directives), "precision { compute = bf16 }")
	s, err := c.compile()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.planned.Funcs {
		for i, r := range f.Results {
			if r.Role != ir.RoleLoss {
				continue
			}
			wide := r.Value.Type
			narrow := wide
			narrow.DType = ir.BF16
			down := f.NewOp(op.Cast, []*ir.Value{r.Value}, nil, narrow)
			up := f.NewOp(op.Cast, []*ir.Value{down.Results[0]}, nil, wide)
			f.Ops = append(f.Ops, down, up)
			f.Results[i].Value = up.Results[0]
		}
	}
	var r Result
	if c.hold(s, &r); r.Err != nil || len(r.Diffs) == 0 {
		t.Errorf("a loss in bf16 passes: %v", r.Err)
	}
}
