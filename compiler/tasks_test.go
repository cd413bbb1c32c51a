package compiler_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ptc/backend"
	"ptc/backend/assemble"
	"ptc/bench/matrix"
	"ptc/compiler"
	"ptc/ir"
	"ptc/runtime/explain"
	"ptc/runtime/program"
)

// fused compiles source up to `fuse` for a target.
func fused(t *testing.T, o compiler.Options) (m *ir.Module) {
	t.Helper()
	o.Hooks = []compiler.Hook{func(_ int, name string, text func() string, _ time.Duration) error {
		if name != "fuse" {
			return nil
		}
		parsed, errs := ir.Parse("fuse.ptir", []byte(text()))
		if len(errs) > 0 {
			return errs[0]
		}
		m = parsed
		return nil
	}}
	if _, _, err := compiler.Compile(o); err != nil && m == nil {
		t.Fatal(err)
	}
	return m
}

// tasked compiles source up to `fuse` for a target, and plans it apart: with its tasks, and
// with their ticks one after the other.
func tasked(t *testing.T, o compiler.Options) (m *ir.Module, tasks, serial *program.Plan) {
	t.Helper()
	m = planApart(fused(t, o))
	to, err := backend.Resolve(o.Target)
	if err != nil {
		t.Fatal(err)
	}
	if tasks, err = assemble.Plan(m, to); err != nil {
		t.Fatal(err)
	}
	if serial, err = assemble.Plan(m.Unrolled(), to); err != nil {
		t.Fatal(err)
	}
	return m, tasks, serial
}

// read is a plan as a run has it, from its file.
func read(t *testing.T, p *program.Plan) *program.Plan {
	t.Helper()
	b, err := program.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = program.Decode(b); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTasksRun: a plan with tasks computes what that with their ticks one after the other
// does, kernel for kernel and bit for bit, under every schedule; and says the same of itself.
func TestTasksRun(t *testing.T) {
	for _, layout := range []string{"gpipe", "f1b", "interleaved", "zb_h1", "zb_h2", "zb_v", "interleaved_zb", "dualpipe_v", "breadth_first"} {
		src := pipelined["weights of the batch"]
		_, tasks, serial := tasked(t, compiler.Options{File: "m.ptl", Source: []byte(src), Layout: layout, Target: "ref:f64"})
		tasks, serial = read(t, tasks), read(t, serial)
		got, err := tasks.Expanded()
		if err != nil {
			t.Fatal(layout, err)
		}
		want, err := serial.Expanded()
		if err != nil {
			t.Fatal(layout, err)
		}
		if tasks.Devices[0].Progs[0].Micro < 2 || len(tasks.Devices[0].Progs[0].Instrs) >= len(got.Devices[0].Progs[0].Instrs) {
			t.Errorf("%s: %d instructions of %d", layout, len(tasks.Devices[0].Progs[0].Instrs), len(got.Devices[0].Progs[0].Instrs))
		}
		for i := range got.Devices {
			for j := range got.Devices[i].Progs {
				if d := cmp.Diff(instructions(want, i, j), instructions(got, i, j)); d != "" {
					t.Fatalf("%s: device %d, the ticks of the plan (+) and of the module (-):\n%s", layout, i, d)
				}
			}
		}
		a, b := explain.Describe(serial), explain.Describe(tasks)
		if a.LaunchesPerStep != b.LaunchesPerStep || a.FlopsPerStep != b.FlopsPerStep || !reflect.DeepEqual(a.Memory.Peak, b.Memory.Peak) || !reflect.DeepEqual(counts(a), counts(b)) {
			t.Errorf("%s: %d launches, %v FLOP, %v, %v; written out %d, %v, %v, %v", layout, b.LaunchesPerStep, b.FlopsPerStep, b.Memory.Peak, counts(b), a.LaunchesPerStep, a.FlopsPerStep, a.Memory.Peak, counts(a))
		}
		x, err := matrix.TrainOn(serial, 3, 2)
		if err != nil {
			t.Fatal(layout, err)
		}
		y, err := matrix.TrainOn(tasks, 3, 2)
		if err != nil {
			t.Fatal(layout, err)
		}
		if !reflect.DeepEqual(x, y) {
			t.Errorf("%s: a run of tasks differs from that of their ticks", layout)
		}
		p, _, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: []byte(src), Layout: layout, Target: "ref:f64"})
		if err != nil {
			t.Fatal(layout, err)
		}
		z, err := matrix.TrainOn(p, 3, 2)
		if err != nil {
			t.Fatal(layout, err)
		}
		if r := matrix.Compare(z, y, matrix.Target{Tolerance: 1e-12}); !r.OK() {
			t.Errorf("%s: planned apart, it computes something else: %v", layout, r)
		}
	}
}

// instructions are those of a program that is written out, with their buffers' places.
func instructions(p *program.Plan, device, prog int) (out []string) {
	d := &p.Devices[device]
	for _, in := range d.Progs[prog].Instrs {
		s := fmt.Sprint(p.Kernels[in.Kernel].Name, " ", in.Scope, in.NoWait, in.Pos)
		if in.Comm != nil {
			s += fmt.Sprintf(" %+v", *in.Comm)
		}
		for _, b := range in.Bufs {
			s += fmt.Sprint(" ", d.Buffers[b].Offset, "+", d.Buffers[b].Bytes)
		}
		out = append(out, s)
	}
	return out
}

// counts are how often kernels are launched and communications issued in a step.
func counts(d *explain.Description) map[string]int {
	out := map[string]int{}
	for _, k := range d.Kernels {
		out[k.Name] = k.Launches
		for _, s := range k.Where {
			out[k.Name+" "+s.Module+" "+s.Source] += s.Launches
		}
	}
	for _, c := range d.Collectives {
		out[c.Kind+" "+c.Axis] += c.Count
	}
	return out
}

// TestPlansOfTasksDoNotGrow: of a pipeline with four times the microbatches, the plan has
// more ticks, and as many instructions, buffers and ports.
func TestPlansOfTasksDoNotGrow(t *testing.T) {
	sizes, bytes := map[int][]int{}, map[int]int{}
	for _, micro := range []int{4, 16} {
		src := strings.Replace(pipelined["one gradient for all"], "microbatches = 4 } }\n", fmt.Sprintf("microbatches = %d } }\n", micro), 1)
		_, p, _ := tasked(t, compiler.Options{File: "m.ptl", Source: []byte(src), Layout: "gpipe", Target: "ref"})
		b, err := program.Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Devices {
			for _, x := range p.Devices[i].Progs {
				sizes[micro] = append(sizes[micro], len(x.Instrs), len(x.Tasks), len(p.Devices[i].Buffers), len(p.Devices[i].Ports))
				if x.Name == "step" && x.Micro != micro {
					t.Errorf("program %s is for %d microbatches of %d", x.Name, x.Micro, micro)
				}
			}
		}
		if explain.Describe(p).Microbatches != micro {
			t.Errorf("it says that it has %d microbatches", explain.Describe(p).Microbatches)
		}
		bytes[micro] = len(b)
	}
	// Numbers of microbatches, bytes and instructions take up to three bytes more each.
	if most := bytes[4] + bytes[4]/20; !reflect.DeepEqual(sizes[4], sizes[16]) || bytes[16] > most {
		t.Errorf("%v, in %v bytes", sizes, bytes)
	}
}
