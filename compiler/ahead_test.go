package compiler_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ptc/backend"
	"ptc/backend/assemble"
	"ptc/bench/matrix"
	"ptc/compiler"
	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/runtime/comm"
	"ptc/runtime/comm/mpi"
	"ptc/runtime/device"
	"ptc/runtime/device/fake"
	machine "ptc/runtime/exec"
	"ptc/runtime/program"
)

// post has every message that f receives in turns of microbatches received ahead.
func post(f *ir.Func) {
	var ops []*ir.Op
	begun := map[*ir.Value]*ir.Op{}
	for _, o := range f.Ops {
		if !op.Has(o, op.Receives) || o.Run != nil || o.Task == nil || o.Task.Once || o.Start {
			ops = append(ops, o)
			continue
		}
		at := slices.IndexFunc(ops, func(x *ir.Op) bool { return x.Task == o.Task })
		if at < 0 {
			at = len(ops)
		}
		for at < len(ops) && ops[at].Task == o.Task && op.Posted(ops[at]) {
			at++
		}
		done := f.NewOp(collective.Done, []*ir.Value{o.Result()}, nil, o.Result().Type.Clone())
		done.Slot, done.Scope = o.Slot, o.Scope
		o.Start, o.Ahead = true, 1
		begun[o.Result()] = done
		ops = slices.Insert(append(ops, done), at, o)
	}
	use := func(v *ir.Value) *ir.Value {
		if d := begun[v]; d != nil {
			return d.Result()
		}
		return v
	}
	for _, o := range ops {
		for i, v := range o.Args {
			if begun[v] != o {
				o.Args[i] = use(v)
			}
		}
	}
	for i := range f.Results {
		f.Results[i].Value = use(f.Results[i].Value)
	}
	f.Ops = ops
}

// postedPlan compiles source up to `fuse` for a target, has its messages received ahead,
// and plans it apart; of what is received, two microbatches have places.
func postedPlan(t *testing.T, o compiler.Options) (tasks, serial *program.Plan) {
	t.Helper()
	m := fused(t, o)
	for _, f := range m.Funcs {
		if f.Class == ir.Entry {
			post(f)
		}
	}
	posted := 0
	m = planApart(m)
	for _, f := range m.Funcs {
		for _, x := range f.Ops {
			if op.Posted(x) {
				x.Spread[0].MicroRing = min(2, x.Spread[0].MicroRing)
				posted++
			}
		}
	}
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
	if posted == 0 {
		t.Errorf("%s: no message is received ahead", o.Layout)
	}
	return read(t, tasks), read(t, serial)
}

// TestPostedRun: with all messages received ahead, a pipeline computes the bits that it
// computes without, under every schedule, on the processor and on devices that do
// everything as late as it may be, or at random times.
func TestPostedRun(t *testing.T) {
	for _, layout := range []string{"gpipe", "f1b", "interleaved", "zb_h1", "zb_h2", "zb_v", "interleaved_zb", "dualpipe_v", "breadth_first"} {
		o := compiler.Options{File: "m.ptl", Source: []byte(pipelined["weights of the batch"]), Layout: layout, Target: "ref:f64"}
		_, tasks, _ := tasked(t, o)
		p, serial := postedPlan(t, o)
		x, err := p.Expanded()
		if err != nil {
			t.Fatal(layout, err)
		}
		y, err := serial.Expanded()
		if err != nil {
			t.Fatal(layout, err)
		}
		for i := range x.Devices {
			for j := range x.Devices[i].Progs {
				if d := cmp.Diff(instructions(y, i, j), instructions(x, i, j)); d != "" {
					t.Fatalf("%s: device %d, the ticks of the plan (+) and of the module (-):\n%s", layout, i, d)
				}
			}
		}
		for i := range p.Devices { // what is received in the tick before meets this tick's in one place
			d := &p.Devices[i]
			in := slices.IndexFunc(d.Progs[0].Instrs, func(in program.Instr) bool { return in.Ahead == 1 && len(in.Bufs) == 1 })
			if in < 0 || d.Progs[0].Instrs[in].Comm == nil {
				continue
			}
			b := &d.Buffers[d.Progs[0].Instrs[in].Bufs[0]]
			ring, step := b.MicroRing, b.MicroStep
			b.MicroRing, b.MicroStep = 0, 0
			if err := p.Validate(); layout == "gpipe" && (err == nil || !strings.Contains(err.Error(), "under way, receives")) {
				t.Errorf("%s, device %d: with one place for what is received: %v", layout, i, err)
			}
			b.MicroRing, b.MicroStep = ring, step
		}
		want, err := matrix.TrainOn(read(t, tasks), 3, 2)
		if err != nil {
			t.Fatal(layout, err)
		}
		on := func(what string, wrap func(device.Opener) device.Opener) {
			device.Wrap(wrap)
			defer device.Wrap(nil)
			if got, err := matrix.TrainOn(p, 3, 2); err != nil {
				t.Fatal(layout, what, err)
			} else if !reflect.DeepEqual(want, got) {
				t.Errorf("%s, %s: with messages received ahead it computes something else", layout, what)
			}
		}
		on("on the processor", nil)
		on("as late as may be", fake.Wrap(fake.Latest))
		on("at random times", fake.Wrap(1))
	}
}

// planOf is the variable that makes the test binary one process of a job, which runs the
// plan of that file.
const planOf = "PTC_COMPILER_TEST_PLAN"

// TestPostedProcesses: the same among processes.
func TestPostedProcesses(t *testing.T) {
	if file := os.Getenv(planOf); file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := program.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		mesh, err := comm.NewMesh(p.Mesh)
		if err != nil {
			t.Fatal(err)
		}
		ends, err := comm.Open("mpi", mesh, comm.Options{Timeout: time.Minute, InFlight: program.InFlight})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("losses %s\n", losses(t, p, ends))
		for _, d := range ends {
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	if os.Getenv("PTC_MPI") == "none" {
		t.Skip("PTC_MPI=none: without MPI, by choice")
	}
	if _, err := exec.LookPath("mpirun"); err != nil {
		t.Fatalf("mpirun is not installed: %s (or set PTC_MPI=none)", mpi.Install)
	}
	for _, layout := range []string{"f1b", "zb_v"} {
		p, _ := postedPlan(t, compiler.Options{File: "m.ptl", Source: []byte(pipelined["weights of the batch"]), Layout: layout, Target: "ref:f64"})
		b, err := program.Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "plan.bin")
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		want := losses(t, p, nil)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		cmd := exec.CommandContext(ctx, "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", fmt.Sprint(p.Mesh.Ranks()), os.Args[0], "-test.run", "^TestPostedProcesses$")
		cmd.Env = append(os.Environ(), planOf+"="+file, "OMPI_MCA_orte_tmpdir_base="+t.TempDir()) // jobs that start at the same time would race for one folder
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil {
			t.Fatalf("%s: %v:\n%s", layout, err, out)
		}
		if n := strings.Count(string(out), "losses "); n != p.Mesh.Ranks() {
			t.Errorf("%s: %d processes of %d end:\n%s", layout, n, p.Mesh.Ranks(), out)
		}
		have := regexp.MustCompile(`losses ([0-9a-f ]+)`).FindAllStringSubmatch(string(out), -1)
		if !slices.ContainsFunc(have, func(x []string) bool { return strings.TrimSpace(x[1]) == want }) {
			t.Errorf("%s: the processes have the losses %q, want %s", layout, have, want)
		}
	}
}

// losses are those of four steps, as bits; zeros where this process does not have them.
func losses(t *testing.T, p *program.Plan, ends []comm.Device) string {
	t.Helper()
	m, err := machine.Open(p, machine.Options{Threads: 1, Timeout: time.Minute, Comm: ends})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.Initialize(7); err != nil {
		t.Fatal(err)
	}
	step := m.Program("step")
	var out []string
	for n := range 4 {
		feed(t, m, n, 1)
		if err := step.Run(); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%016x", math.Float64bits(step.Loss())))
	}
	return strings.Join(out, " ")
}

// feed feeds step n, with values times scale.
func feed(t *testing.T, m *machine.Machine, n int, scale float64) {
	t.Helper()
	m.SetStep(int64(n) + 1)
	m.SetSeed(7)
	step := m.Program("step")
	for _, f := range step.Fields() {
		size := 1
		for _, n := range f.Shape {
			size *= n
		}
		data := make([]byte, 4*size)
		for i := range size {
			bits := uint32(i+n) % 2
			if f.DType != dtype.I32 {
				bits = math.Float32bits(float32(scale * math.Sin(float64(7*i+n))))
			}
			binary.LittleEndian.PutUint32(data[4*i:], bits)
		}
		if err := step.Feed(f.Name, data); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPostedNotFinite: a run with messages received ahead that is traced, stops before the
// update, and finds where its loss is no longer finite, as one without does.
func TestPostedNotFinite(t *testing.T) {
	o := compiler.Options{File: "m.ptl", Source: []byte(pipelined["weights of the batch"]), Layout: "f1b", Target: "ref:f64"}
	_, tasks, _ := tasked(t, o)
	posted, _ := postedPlan(t, o)
	said := func(p *program.Plan) (out []string) {
		m, err := machine.Open(p, machine.Options{Threads: 1, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if err := m.Initialize(7); err != nil {
			t.Fatal(err)
		}
		step := m.Program("step")
		if stops, err := step.StopBeforeUpdate(); err != nil || !stops {
			t.Fatalf("it does not stop: %v", err)
		}
		for n, scale := range []float64{1, 1e300, math.NaN()} {
			feed(t, m, n, scale)
			err := step.Trace(func(machine.Span) {})
			out = append(out, fmt.Sprint(err, " ", math.Float64bits(step.Loss())))
			feed(t, m, n, scale)
			if again := step.Run(); again != err {
				t.Errorf("traced: %v, then %v", err, again)
			}
			if err == machine.ErrNotFinite {
				feed(t, m, n, scale)
				where, err := step.FindNonFinite()
				if err != nil || where == nil {
					t.Fatalf("where it is not finite: %v, %v", where, err)
				}
				out = append(out, where.String())
			}
		}
		return out
	}
	want, got := said(tasks), said(posted)
	if len(want) < 4 || !reflect.DeepEqual(want, got) {
		t.Errorf("received ahead:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
