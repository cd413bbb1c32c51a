package compiler_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"ptc/bench/matrix"
	"ptc/internal/collective"
	"ptc/runtime/device"
	"ptc/runtime/device/fake"
	"ptc/runtime/exec"
	"ptc/runtime/program"
)

// TestFakeEnginesSeeRaces: a plan in which an instruction does not wait for what it
// needs, or is behind what it waited for, computes something else on a fake engine,
// or fails. Validate refuses such a plan; here it is exchanged behind its back.
func TestFakeEnginesSeeRaces(t *testing.T) {
	const each = 6 // of a kind and a layout
	seen, onHost, total := 0, 0, 0
	for _, c := range []struct{ model, layout string }{
		{"gpt", "dp2 z1 interleaved:2:2:2 tp2 + offload optimizer to host { piece = 1 KiB } offload activations of Block to disk (layers=5)"},
		{"gpt", "fsdp2 tp2 cp2"},
	} {
		m := mustFind(t, c.model)
		i := slices.IndexFunc(matrix.Layouts, func(l matrix.Layout) bool { return l.For(m) && l.Name() == c.layout })
		p, err := matrix.Compile("..", m, matrix.Layouts[i], "cpu")
		if err != nil {
			t.Fatal(err)
		}
		p = expanded(t, p)
		want, err := result(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, mutate := range races {
			r := rand.New(rand.NewSource(1))
			found, of, host := 0, 0, 0
			for tries := 0; of < each && tries < 400; tries++ {
				x := newExchanged(p, r.Intn(len(p.Devices)))
				if !mutate(r, x) || !x.races() {
					continue
				}
				of++
				differs := func(wrap func(device.Opener) device.Opener) bool {
					got, err := result(p, func(open device.Opener) device.Opener { return x.opener(wrap(open)) })
					return err != nil || !bytes.Equal(got, want)
				}
				if differs(func(open device.Opener) device.Opener { return open }) {
					host++
				}
				for seed := range uint64(6) {
					if differs(fake.Wrap(seed)) {
						found++
						break
					}
				}
			}
			t.Logf("%-12s %-40.40s %2d of %2d are seen, on the host %2d", name, c.layout, found, of, host)
			if found*10 < of*9 {
				t.Errorf("%s, %s: %d of %d are seen", name, c.layout, found, of)
			}
			seen, onHost, total = seen+found, onHost+host, total+of
		}
	}
	if total < 30 || seen <= onHost {
		t.Errorf("%d mutants, of which %d are seen, and %d on the host: too few to prove anything", total, seen, onHost)
	}
}

// exchanged is a plan of which the step of some devices is another.
type exchanged struct {
	plan    *program.Plan // right
	device  int
	instrs  []program.Instr
	instead []int // by instruction: which it was
}

func newExchanged(p *program.Plan, d int) *exchanged {
	x := &exchanged{plan: p, device: d, instrs: slices.Clone(p.Devices[d].Progs[0].Instrs)}
	for i := range x.instrs {
		x.instead = append(x.instead, i)
	}
	return x
}

// move puts instruction i into the place of j.
func (x *exchanged) move(i, j int) {
	in, was := x.instrs[i], x.instead[i]
	x.instrs = slices.Insert(slices.Delete(x.instrs, i, i+1), j, in)
	x.instead = slices.Insert(slices.Delete(x.instead, i, i+1), j, was)
}

// finish makes each done wait for what it did.
func (x *exchanged) finish() *program.Plan {
	at := make([]int, len(x.instead))
	for i, was := range x.instead {
		at[was] = i
	}
	q := *x.plan
	q.Devices = slices.Clone(q.Devices)
	d := &q.Devices[x.device]
	d.Progs = slices.Clone(d.Progs)
	d.Progs[0].Instrs = slices.Clone(x.instrs)
	for i := range d.Progs[0].Instrs {
		if in := &d.Progs[0].Instrs[i]; in.Comm != nil && in.Comm.Kind == collective.Done {
			c := *in.Comm
			c.Of = at[in.Comm.Of]
			in.Comm = &c
		}
	}
	return &q
}

// races says whether Validate refuses the plan because of a race.
func (x *exchanged) races() bool {
	err := x.finish().Validate()
	return err != nil && (strings.Contains(err.Error(), "under way") || strings.Contains(err.Error(), "does not wait"))
}

// opener opens engines for the other plan.
func (x *exchanged) opener(open device.Opener) device.Opener {
	q := x.finish()
	return func(r device.Request) (device.Engine, error) {
		for i := range x.plan.Devices {
			if r.Device == &x.plan.Devices[i] {
				r.Device = &q.Devices[i]
				if i == x.device {
					r.Exchanges = &shifted{r.Exchanges, x.instead}
				}
			}
		}
		r.Plan = q
		return open(r)
	}
}

// shifted is communication by the numbers of the right plan.
type shifted struct {
	device.Exchanges
	instead []int
}

func (s *shifted) Prepare(prog, instr int, at func(int) device.Range) (device.Exchange, error) {
	if prog == 0 {
		instr = s.instead[instr]
	}
	return s.Exchanges.Prepare(prog, instr, at)
}

// races are changes that may make one.
var races = map[string]func(r *rand.Rand, x *exchanged) bool{
	"late done": func(r *rand.Rand, x *exchanged) bool { // behind the next kernels
		i, ok := choose(r, x, func(in *program.Instr) bool { return in.Comm != nil && in.Comm.Kind == collective.Done })
		j := i
		for n := 1 + r.Intn(3); ok && n > 0 && j+1 < len(x.instrs) && x.instrs[j+1].Comm == nil; n-- {
			j++
		}
		if j == i {
			return false
		}
		x.move(i, j)
		return true
	},
	"early start": func(r *rand.Rand, x *exchanged) bool { // before the kernels that it sends the results of
		i, ok := choose(r, x, func(in *program.Instr) bool { return in.Comm != nil && in.Comm.Start })
		j := i
		for n := 1 + r.Intn(3); ok && n > 0 && j > 0 && x.instrs[j-1].Comm == nil; n-- {
			j--
		}
		if j == i {
			return false
		}
		x.move(i, j)
		return true
	},
	"no wait": func(r *rand.Rand, x *exchanged) bool {
		i, ok := choose(r, x, func(in *program.Instr) bool { return in.Comm == nil && !in.NoWait })
		if ok && i > 0 && x.instrs[i-1].Comm == nil {
			x.instrs[i].NoWait = true
			return true
		}
		return false
	},
}

func choose(r *rand.Rand, x *exchanged, f func(*program.Instr) bool) (int, bool) {
	var all []int
	for i := range x.instrs {
		if f(&x.instrs[i]) {
			all = append(all, i)
		}
	}
	if all == nil {
		return 0, false
	}
	return all[r.Intn(len(all))], true
}

// result is the bytes of all losses and tensors after two steps.
func result(p *program.Plan, wrap func(device.Opener) device.Opener) ([]byte, error) {
	device.Wrap(wrap)
	defer device.Wrap(nil)
	return resultOf(p, 1)
}

// resultOf is the same with so many threads.
func resultOf(p *program.Plan, threads int) ([]byte, error) {
	m, err := exec.Open(p, exec.Options{Threads: threads, Timeout: 20 * time.Second})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if err := m.Initialize(3); err != nil {
		return nil, err
	}
	m.SetSeed(3)
	step, out := m.Program("step"), []byte(nil)
	for n := range 2 {
		m.SetStep(int64(n) + 1)
		for _, f := range step.Fields() {
			mem := make([]byte, 0, 4)
			for i := range product(f.Shape) {
				v := uint32((i*7 + n) % 5)
				if f.DType.IsFloat() {
					v = math.Float32bits(float32(v) / 5)
				}
				mem = binary.LittleEndian.AppendUint32(mem, v)
			}
			if err := step.Feed(f.Name, mem); err != nil {
				return nil, err
			}
		}
		if err := step.Run(); err != nil {
			return nil, err
		}
		out = append(out, fmt.Sprint(step.Loss())...)
	}
	for _, t := range m.Tensors() {
		mem := make([]byte, t.Bytes())
		if err := m.ReadBytes(t.Path, mem); err != nil {
			return nil, err
		}
		out = append(out, mem...)
	}
	return out, nil
}

func product(shape []int) int {
	n := 1
	for _, x := range shape {
		n *= x
	}
	return n
}
