package assemble_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/backend"
	"ptc/backend/assemble"
	"ptc/ir"
	"ptc/runtime/program"
)

// turner writes a planned module of a stage with tasks: forward and backward, and what is
// done once before and after.
type turner struct {
	r       *rand.Rand
	b       strings.Builder
	next    int
	micro   int
	count   int // of the stack
	tag     int
	per     []string // values of each microbatch
	each    []string // those of each instance too
	once    []string
	results []string
}

func (w *turner) value() string {
	w.next++
	return fmt.Sprintf("%%%d", w.next-1)
}

func (w *turner) line(format string, args ...any) { fmt.Fprintf(&w.b, "  "+format+"\n", args...) }

// at is a place, for each microbatch and each instance if it is of these.
func (w *turner) at(micro, each bool) string {
	s := fmt.Sprintf("at=[%d]", 64*w.r.Intn(1000))
	if ring := 1 + w.r.Intn(w.micro); micro && ring > 1 && w.r.Intn(3) > 0 {
		s += fmt.Sprintf(" micro_spread=[%d, %d]", 64*(1+w.r.Intn(40)), ring)
	} else if micro {
		s += " micro_spread=[0, 1]"
	}
	if each && w.r.Intn(3) > 0 {
		s += fmt.Sprintf(" spread=[%d, %d]", 64*(1+w.r.Intn(3)), w.count)
	}
	return s
}

// sum writes what is added up over microbatches, in one place.
func (w *turner) sum(indent, scope string, each bool, of string) string {
	place := w.at(false, each)
	x, y, z := w.value(), w.value(), w.value()
	w.line("%s%s : f32[a=16] = enter_tick %s axes={a=16} dtype=f32 // %s", indent, x, place, scope)
	w.line("%s%s : f32[a=16] = call %s, %s %s fn=@add fn_first=@exp wait=true // %s", indent, y, x, of, place, scope)
	w.line("%s%s : f32[a=16] = leave_tick %s, %s %s // %s", indent, z, x, y, place, scope)
	return z
}

// call writes a call, and what it makes.
func (w *turner) call(indent, scope string, micro, each bool, from []string) string {
	v := w.value()
	w.line("%s%s : f32[a=16] = call %s, %s %s fn=@add wait=%v // %s", indent, v, pick(w.r, from), pick(w.r, from), w.at(micro, each), w.r.Intn(2) == 0, scope)
	return v
}

// message writes a send and a receive of each microbatch, which may be received ahead.
func (w *turner) message() {
	w.line("_ = send %s each=64 over=(pp) peer=1 tag=%d why=\"w\" // t", pick(w.r, w.per), w.tag)
	v, ahead := w.value(), w.r.Intn(2) == 0
	posted := map[bool]string{true: "ahead=1 start=true "}[ahead]
	w.line("%s : f32[a=16] = recv %saxes={a=16} %s dtype=f32 each=64 over=(pp) peer=1 tag=%d why=\"w\" // t", v, posted, w.at(true, false), w.tag+1)
	if of := v; ahead {
		v = w.value()
		w.line("%s : f32[a=16] = done %s at=[0] // t", v, of)
	}
	w.per = append(w.per, v)
	w.tag += 2
}

// task writes what is done for each microbatch.
func (w *turner) task(name string) {
	w.line("do %s", name)
	w.per = append(w.per, w.call("", name, true, false, append(w.per, w.once...)))
	w.message()
	if w.r.Intn(4) > 0 {
		w.line("for blocks%s", pick(w.r, []string{"", " down"}))
		from := append(append([]string{}, w.per...), append(w.each, w.once...)...)
		made := []string{}
		for range 1 + w.r.Intn(3) {
			v := w.call("  ", "blocks.{i}", true, true, append(from, made...))
			made = append(made, v)
			if w.r.Intn(2) == 0 {
				w.results = append(w.results, w.sum("  ", "blocks.{i}", true, v))
			}
		}
		w.each = append(w.each, made...)
		w.line("end for")
	}
	if w.r.Intn(2) == 0 {
		w.once = append(w.once, w.sum("", name, false, pick(w.r, w.per))) // read in the task after alone
		defer func(n int) { w.results, w.once = append(w.results, "once"+w.once[n]), w.once[:n] }(len(w.once) - 1)
	}
	w.line("end do")
}

func randomTasks(seed int64) string {
	w := &turner{r: rand.New(rand.NewSource(seed))}
	w.micro, w.count = 1+w.r.Intn(5), 1+w.r.Intn(4)
	fmt.Fprintf(&w.b, "ptir 1 planned \"t\"\nmesh dp=2, pp=2\n\nfunc @step arena=%d class=entry microbatches=%d\n  stack blocks count=%d\n", arena, w.micro, w.count)
	w.line("task before once\n  task forward\n  task idle\n  task backward\n  task after once")
	ticks := "ticks before"
	for m := range w.micro {
		ticks += fmt.Sprintf(" forward:%d idle:%d", m, m)
		if m > 0 {
			ticks += fmt.Sprintf(" backward:%d", m-1)
		}
	}
	w.line("%s backward:%d after", ticks, w.micro-1)
	x, p, n := w.value(), w.value(), w.value()
	w.line("arg %s : f32[a=16] data \"x\" at=640000", x)
	w.line("arg %s : f32[a=16] each blocks param \"blocks.{i}.w\" at=655360 init=zeros() spread=[64, %d]", p, w.count)
	w.line("arg %s : i32[] each microbatch index \"microbatch.{i}\" at=660000 micro_spread=[%d, %d] number=5", n, 64*min(1, w.micro-1), w.micro)
	w.once = []string{x}
	w.line("do before")
	w.once = append(w.once, w.call("", "before", false, false, w.once))
	w.line("end do")
	w.each = []string{p}
	w.task("forward")
	w.line("do idle\n  %s : i32[] = call %s at=[64] fn=@int wait=true // t\n  end do", w.value(), n)
	w.task("backward")
	var sums []string
	w.line("do after")
	for _, v := range w.results {
		if s, ok := strings.CutPrefix(v, "once"); ok {
			w.once = append(w.once, s)
		} else {
			sums = append(sums, v)
		}
	}
	last := w.call("", "after", false, false, w.once)
	if len(sums) > 0 {
		w.line("for blocks")
		g := w.call("  ", "blocks.{i}", false, true, append(append([]string{p}, sums...), w.once...))
		w.line("end for")
		sums = append(sums, g)
	}
	w.line("end do")
	if len(sums) > 0 {
		w.line("result %s grad \"blocks.{i}.w\"", pick(w.r, sums))
	}
	w.line("result %s loss", last)
	return w.b.String() + "end\n" + kernelsOfTests
}

// TestTicksAreTheProgramWrittenOut: assembling a module with tasks and writing the plan out
// gives the plan of the module whose ticks are written one after the other, and of that
// of which all is.
func TestTicksAreTheProgramWrittenOut(t *testing.T) {
	to, err := backend.Resolve("ref")
	if err != nil {
		t.Fatal(err)
	}
	expanded := func(m *ir.Module) *program.Plan {
		p, err := assemble.Plan(m, to)
		if err == nil {
			p, err = p.Expanded()
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for seed := range int64(400) {
		text := randomTasks(seed)
		m, errs := ir.Parse("tasks.ptir", []byte(text))
		if len(errs) > 0 {
			t.Fatalf("seed %d: %v\n%s", seed, errs, text)
		}
		got := expanded(m)
		if p, _ := assemble.Plan(m, to); len(p.Devices[0].Progs[0].Tasks) != 5 || len(p.Devices[0].Progs[0].Ticks) != 2+3*p.Devices[0].Progs[0].Micro {
			t.Fatalf("seed %d: %+v", seed, p.Devices[0].Progs[0])
		}
		for name, want := range map[string]*program.Plan{"all": expanded(m.Unrolled())} {
			if d := cmp.Diff(listed(want), listed(got)); d != "" {
				t.Fatalf("seed %d: the tasks written out (+) and the module with %s written out (-):\n%s\n%s", seed, name, d, text)
			}
			if want.Stats != got.Stats {
				t.Errorf("seed %d: %+v, want %+v", seed, got.Stats, want.Stats)
			}
		}
	}
}

// TestTasksThatCannotBe: what a planner did wrong is an error.
func TestTasksThatCannotBe(t *testing.T) {
	to, err := backend.Resolve("ref")
	if err != nil {
		t.Fatal(err)
	}
	const text = `ptir 1 planned "t"
func @step arena=4096 class=entry microbatches=3
  task forward
  ticks forward:0 forward:1 forward:2
  arg %0 : i32[] each microbatch index "m.{i}" at=64 micro_spread=[64, 3]
  arg %1 : f32[a=16] data "x" at=320
  do forward
  %2 : i32[] = call %0 at=[256] fn=@int wait=true
  %3 : f32[a=16] = enter_tick at=[512] axes={a=16} dtype=f32
  %4 : f32[a=16] = call %3, %1 at=[512] fn=@add fn_first=@exp wait=true
  %5 : f32[a=16] = leave_tick %3, %4 at=[512]
  end do
  result %5 loss
end
` + kernelsOfTests
	for _, c := range []struct{ from, to, want string }{
		{"", "", ""},
		{"%3 : f32[a=16] = enter_tick at=[512]", "%3 : f32[a=16] = enter_tick at=[576]", "is not where the tick before left it"},
		{"leave_tick %3, %4 at=[512]", "leave_tick %3, %4 at=[576]", "is not where the tick before left it"},
		{" fn_first=@exp", "", "the kernel of the first tick is missing"},
		{"micro_spread=[64, 3]", "micro_spread=[64, 2]", "of 3 microbatches has 2 places"},
		{"micro_spread=[64, 3]", "", "of 3 microbatches has 1 places"},
	} {
		m, errs := ir.Parse("t.ptir", []byte(strings.Replace(text, c.from, c.to, 1)))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		_, err := assemble.Plan(m, to)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.to, err, c.want)
		}
	}
}
