package recipes

import (
	"flag"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ptc/compiler"
	"ptc/runtime/explain"
	"ptc/runtime/program"
	"ptc/runtime/train"
)

var (
	all  = flag.Bool("all", false, "compile every recipe")
	only = flag.String("only", "", "compile the recipes with this in their name")
)

// used is the processor time of this process so far, in seconds.
func used(t *testing.T) float64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// compile makes the plan of a recipe and describes it.
func compile(t *testing.T, r *Recipe) (*program.Plan, *explain.Description, float64) {
	t.Helper()
	src, err := os.ReadFile(r.Model)
	if err != nil {
		t.Fatal(err)
	}
	before := used(t)
	p, report, err := compiler.Compile(compiler.Options{File: r.Model, Source: append(src, "\n"+r.Layout()...), Read: os.ReadFile,
		Layout: "recipe", Target: "cuda:sm_90a", Set: r.Settings()})
	took := used(t) - before
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Layout())
	}
	for _, w := range report.Warnings {
		if !strings.HasPrefix(w, "devices are idle") { // which some publications accept
			t.Errorf("a warning: %v", w)
		}
	}
	return p, explain.Describe(p), took
}

// TestRecipes: published recipes compile in seconds, need the memory of their closed form
// and send no more than theirs.
func TestRecipes(t *testing.T) {
	for i := range Table {
		r := &Table[i]
		if !(r.Always || *all || *only != "") || !strings.Contains(r.Name, *only) {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			p, d, took := compile(t, r)
			f := Of(r)
			peak := float64(slices.Max(d.Memory.Peak))
			t.Logf("%d devices: %.1f GiB, of the form %.2f; %.1f CPU-s", r.Devices(), peak/(1<<30), peak/f.Peak, took)
			if peak > 1.1*f.Peak+f.Outputs {
				t.Errorf("%.1f GiB a device, where the closed form has %.1f", peak/(1<<30), f.Peak/(1<<30))
			}
			if *all && took > r.CPU {
				t.Errorf("%.1f seconds of processor time, at most %.0f", took, r.CPU)
			}
			r.traffic(t, d, &f)
			r.replicas(t, d, &f)
			r.experts(t, d, &f)
			r.ring(t, d, &f)
			if strings.Contains(r.Name, "70B") {
				evenParts(t, p)
			}
			if n := attention(d); n < f.Attention {
				t.Errorf("%d launches of attention kernels, at least %d in both phases", n, f.Attention)
			}
		})
	}
}

// traffic compares what blocks send over tp.
func (r *Recipe) traffic(t *testing.T, d *explain.Description, f *Form) {
	t.Helper()
	have := map[string]Traffic{}
	for _, c := range d.Collectives {
		if c.Axis == "tp" && strings.HasPrefix(c.Scope, "blocks") && c.Bytes*64 >= int64(r.Embed) {
			h := have[c.Kind]
			have[c.Kind] = Traffic{h.Count + c.Count, h.Bytes + float64(c.Count)*float64(c.Bytes)}
		}
	}
	for _, kind := range []string{"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute"} {
		h, most := have[kind], f.Block[kind]
		if h.Bytes > 1.001*most.Bytes+1e-3*f.Peak {
			t.Errorf("blocks send %d × %s over tp, %.2f GiB; Megatron-LM %d, of %.2f", h.Count, kind, h.Bytes/(1<<30), most.Count, most.Bytes/(1<<30))
		}
	}
}

// experts compares what experts exchange.
func (r *Recipe) experts(t *testing.T, d *explain.Description, f *Form) {
	t.Helper()
	if r.Chosen == 0 {
		return
	}
	var have Traffic
	for _, c := range d.Collectives {
		if c.Kind == "all_to_all" && strings.HasPrefix(c.Scope, "blocks") {
			have = Traffic{have.Count + c.Count, have.Bytes + float64(c.Count)*float64(c.Bytes)}
		}
	}
	if have.Count > f.Exchange.Count || have.Bytes > 1.001*f.Exchange.Bytes || have.Bytes < 0.95*f.Exchange.Bytes {
		t.Errorf("experts exchange %d times, %.1f GiB; the form has %d times, %.1f", have.Count, have.Bytes/(1<<30), f.Exchange.Count, f.Exchange.Bytes/(1<<30))
	}
}

// ring compares what rings of attention send on. Besides them, choices of experts are brought into the order of the
// sequence, in which their places are counted.
func (r *Recipe) ring(t *testing.T, d *explain.Description, f *Form) {
	t.Helper()
	have := 0.0
	for _, c := range d.Collectives {
		if c.Kind == "permute" && c.Axis == "cp" && !strings.HasSuffix(c.Scope, ".moe") {
			have += float64(c.Count) * float64(c.Bytes)
		}
	}
	if have > 1.001*f.Ring || have < 0.95*f.Ring {
		t.Errorf("rings send %.1f GiB; the form has %.1f", have/(1<<30), f.Ring/(1<<30))
	}
}

// replicas compares what a device of each stage sends of gradients and parameters that others have too.
func (r *Recipe) replicas(t *testing.T, d *explain.Description, f *Form) {
	t.Helper()
	have := map[string]float64{}
	for _, c := range d.Communication {
		axes := strings.Split(c.Axis, ",")
		if c.Kind == "all_to_all" || c.Kind == "permute" || !slices.ContainsFunc([]string{"dp", "cp", "ep"}, func(m string) bool { return slices.Contains(axes, m) }) {
			continue
		}
		n := float64(c.Sent) * float64(d.Classes[c.Class].Devices) / float64(r.Devices()/max(1, r.PP))
		if c.Kind == "all_reduce" {
			n /= 2
		}
		have[c.Kind] += n
	}
	t.Logf("replicas add up %.1f GiB of %.1f and gather %.1f of %.1f", (have["all_reduce"]+have["reduce_scatter"])/(1<<30), f.Gradients/(1<<30), have["all_gather"]/(1<<30), f.Parameters/(1<<30))
	if n := have["all_reduce"] + have["reduce_scatter"]; n > 1.02*f.Gradients {
		t.Errorf("replicas add up %.1f GiB; all gradients in f32 are %.1f", n/(1<<30), f.Gradients/(1<<30))
	}
	if n := have["all_gather"]; n > 1.02*f.Parameters {
		t.Errorf("replicas gather %.1f GiB; the form has %.1f", n/(1<<30), f.Parameters/(1<<30))
	}
}

func attention(d *explain.Description) (n int) {
	for _, k := range d.Kernels {
		if k.Class == "attention" {
			n += k.Launches
		}
	}
	return n
}

// evenParts: of a checkpoint in parts no process writes much more than its share, rank 0 included.
func evenParts(t *testing.T, p *program.Plan) {
	t.Helper()
	shares, err := train.Shares(p)
	if err != nil {
		t.Fatal(err)
	}
	all := int64(0)
	for _, n := range shares {
		all += n
	}
	t.Logf("of a checkpoint of %.1f GB rank 0 writes %.2f GB, and the most of one process is %.2f GB", float64(all)/1e9, float64(shares[0])/1e9, float64(slices.Max(shares))/1e9)
	if mean := all / int64(len(shares)); slices.Max(shares) > mean*11/10 {
		t.Errorf("a process writes %d bytes of a checkpoint, the mean is %d", slices.Max(shares), mean)
	}
}
