package assemble_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/backend"
	"ptc/backend/assemble"
	"ptc/ir"
	"ptc/runtime/program"
)

// writer writes a planned module with runs, of one device or two.
type writer struct {
	r     *rand.Rand
	b     strings.Builder
	next  int
	stack map[string]int // counts
	outer []string       // values outside of runs
	own   map[string][]string
	open  map[string][]string // started in a run, and to be done in a later one
	host  map[string]string   // states in the memory of the host
}

const arena = 1 << 20

func (w *writer) value() string {
	w.next++
	return fmt.Sprintf("%%%d", w.next-1)
}

// at is a place with the spread of instances: all in one, a few in turns, or each in
// its own.
func (w *writer) at(stack string) string {
	at := 64 * w.r.Intn(100)
	n := w.stack[stack]
	switch w.r.Intn(4) {
	case 0:
		return fmt.Sprintf("at=[%d]", at)
	case 1:
		return fmt.Sprintf("at=[%d] spread=[%d, %d]", at, 64*(1+w.r.Intn(3)), min(2, n))
	case 2:
		return fmt.Sprintf("at=[%d] spread=[%d, %d]", at, 64, max(1, w.r.Intn(n+1)))
	}
	return fmt.Sprintf("at=[%d] spread=[%d, %d]", at, 128, n)
}

func pick(r *rand.Rand, list []string) string { return list[r.Intn(len(list))] }

// op writes a call, or a collective that is started, at most so many iterations ahead.
func (w *writer) op(run string, readable []string, ahead int, scope string) (v string, started bool) {
	extra, at := "", fmt.Sprintf("at=[%d]", 64*w.r.Intn(100))
	if run != "" {
		at = w.at(run)
		if ahead != 0 {
			extra = fmt.Sprintf(" ahead=%d", ahead)
		}
	}
	v = w.value()
	switch k := w.r.Intn(6); {
	case k == 0:
		fmt.Fprintf(&w.b, "  %s : f32[a=16] = all_reduce %s%s %s over=(dp) reduce=sum start=true why=\"w\" // %s t.ptl:3:1\n", v, pick(w.r, readable), extra, at, scope)
		return v, true
	case k == 1:
		fmt.Fprintf(&w.b, "  %s : f32[a=16] = all_reduce %s%s %s over=(dp) reduce=sum why=\"w\" // %s t.ptl:4:1\n", v, pick(w.r, readable), extra, at, scope)
	case k < 4:
		fmt.Fprintf(&w.b, "  %s : f32[a=16] = call %s%s %s fn=@exp wait=%v // %s t.ptl:5:1\n", v, pick(w.r, readable), extra, at, w.r.Intn(2) == 0, scope)
	default:
		fmt.Fprintf(&w.b, "  %s : f32[a=16] = call %s, %s%s %s fn=@add wait=%v // %s t.ptl:6:1\n", v, pick(w.r, readable), pick(w.r, readable), extra, at, w.r.Intn(2) == 0, scope)
	}
	return v, false
}

// done writes the end of a collective, some iterations behind.
func (w *writer) done(of, extra, scope string) string {
	v := w.value()
	fmt.Fprintf(&w.b, "  %s : f32[a=16] = done %s%s at=[0] // %s\n", v, of, extra, scope)
	return v
}

// run writes a run. What is carried from instance to instance stays in one place.
func (w *writer) run(stack string, carries bool) {
	down := ""
	if w.r.Intn(2) == 0 {
		down = " down"
	}
	scope := stack + ".{i}"
	before, place := w.value(), 6400+64*w.r.Intn(4)
	if carries {
		fmt.Fprintf(&w.b, "  %s : f32[a=16] = call %s at=[%d] fn=@exp wait=true // head\n", before, pick(w.r, w.outer), place)
	}
	fmt.Fprintf(&w.b, "  for %s%s\n", stack, down)
	var x string
	readable := append(slices.Clone(w.outer), w.own[stack]...)
	if carries {
		x = w.value()
		fmt.Fprintf(&w.b, "    %s : f32[a=16] = enter %s at=[%d] // %s\n", x, before, place, scope)
	}
	var made []string
	ahead := 1 + w.r.Intn(2)
	open := w.open[stack]
	w.open[stack] = nil
	if len(open) > 0 {
		ahead = 0 // who waits is not ahead of who started in another run
	}
	for range 1 + w.r.Intn(5) {
		if ahead > -1 && w.r.Intn(3) == 0 {
			ahead--
		}
		if len(open) > 0 && w.r.Intn(2) == 0 {
			extra := ""
			if ahead != 0 {
				extra = fmt.Sprintf(" ahead=%d", ahead)
			}
			made = append(made, w.done(open[0], extra, scope))
			readable = append(readable, made[len(made)-1])
			open = open[1:]
			continue
		}
		list := readable
		if x != "" && ahead <= 0 {
			list = append(slices.Clone(readable), x)
		}
		v, started := w.op(stack, list, ahead, scope)
		if started {
			open = append(open, v)
		} else {
			made, readable = append(made, v), append(readable, v)
		}
	}
	for _, v := range open {
		if w.r.Intn(3) == 0 {
			w.open[stack] = append(w.open[stack], v)
			continue
		}
		made = append(made, w.done(v, " ahead=-1", scope))
	}
	if w.r.Intn(3) == 0 {
		half, whole := w.value(), w.value()
		fmt.Fprintf(&w.b, "    %s : f32[a=8] = host_to_device %s ahead=-1 %s axis=a from=8 limit=16 why=\"w\" // %s\n", half, w.host[stack], w.at(stack), scope)
		fmt.Fprintf(&w.b, "    %s : f32[a=8] = device_to_host %s ahead=-1 %s memory=host why=\"w\" // %s\n", whole, half, w.at(stack), scope)
	}
	if n := len(made); n > 0 && w.r.Intn(3) == 0 {
		part, all := w.value(), w.value()
		fmt.Fprintf(&w.b, "    %s : f32[a=8] = subview %s ahead=-1 %s axis=a from=0 limit=8 // %s\n", part, made[n-1], w.at(stack), scope)
		fmt.Fprintf(&w.b, "    %s : f32[a=16] = concat_in_place %s, %s ahead=-1 %s axis=a // %s\n", all, part, part, w.at(stack), scope)
		made = append(made, all)
	}
	if carries {
		y, leave := w.value(), w.value()
		fmt.Fprintf(&w.b, "    %s : f32[a=16] = call %s, %s at=[%d] fn=@add wait=true // %s\n", y, x, pick(w.r, w.own[stack]), place, scope)
		fmt.Fprintf(&w.b, "    %s : f32[a=16] = leave %s, %s at=[%d] // %s\n", leave, x, y, place, scope)
		defer func() { w.outer = append(w.outer, leave) }()
	}
	w.b.WriteString("  end for\n")
	w.own[stack] = append(w.own[stack], made...)
}

// bucket writes a collective of several values.
func (w *writer) bucket() {
	if w.r.Intn(2) == 0 {
		return
	}
	var list []string
	for range 1 + w.r.Intn(4) {
		list = append(list, pick(w.r, w.outer))
	}
	started := w.r.Intn(2) == 0
	write := func(name string, from []string, attrs string) (out []string) {
		var results, places []string
		for range from {
			v := w.value()
			results, places, out = append(results, v+" : f32[a=16]"), append(places, fmt.Sprint(64*w.r.Intn(100))), append(out, v)
		}
		fmt.Fprintf(&w.b, "  %s = %s %s at=[%s]%s // update\n", strings.Join(results, ", "), name, strings.Join(from, ", "), strings.Join(places, ", "), attrs)
		return out
	}
	attrs := ` over=(dp) reduce=sum why="w"`
	if started {
		attrs = ` over=(dp) reduce=sum start=true why="w"`
	}
	list = write("all_reduce", list, attrs)
	if started {
		list = write("done", list, "")
	}
	w.outer = append(w.outer, list...)
}

func randomRuns(seed int64) string {
	w := &writer{r: rand.New(rand.NewSource(seed)), own: map[string][]string{}, open: map[string][]string{}, host: map[string]string{}}
	w.stack = map[string]int{"blocks": 1 + w.r.Intn(7), "tail": 1 + w.r.Intn(3)}
	fmt.Fprintf(&w.b, "ptir 1 planned \"t\"\nmesh dp=2\n\nfunc @step arena=%d class=entry\n  stack blocks count=%d\n  stack tail count=%d\n", arena, w.stack["blocks"], w.stack["tail"])
	x := w.value()
	fmt.Fprintf(&w.b, "  arg %s : f32[a=16] data \"x\" at=640000\n", x)
	w.outer = []string{x}
	at, grads := 655360, []string{}
	for _, stack := range []string{"blocks", "tail"} {
		p, q, i := w.value(), w.value(), w.value()
		for _, a := range []struct{ v, text string }{
			{p, "f32[a=16] each %s param \"%s.{i+3}.w\" at=%d init=zeros() spread=[%d, %d]"}, {q, "f32[a=16] each %s state \"%s.{i+3}.w/m\" at=%d init=normal(std=0.5) spread=[%d, %d]"},
			{i, "i32[] each %s index \"%s.{i+3}\" at=%d number=3 spread=[%d, %d]"}} {
			fmt.Fprintf(&w.b, "  arg %s : "+a.text+"\n", a.v, stack, stack, at, 64*(1+w.r.Intn(2)), w.stack[stack])
			at += 2048
		}
		w.own[stack] = []string{p, q}
		w.host[stack] = w.value()
		fmt.Fprintf(&w.b, "  arg %s : f32[a=16] each %s state \"%s.{i+3}.w/v\" at=%d init=ones() memory=host spread=[64, %d]\n", w.host[stack], stack, stack, at, w.stack[stack])
		at += 2048
		grads = append(grads, i)
	}
	for range 1 + w.r.Intn(3) {
		if v, started := w.op("", w.outer, 0, "head"); started {
			w.outer = append(w.outer, w.done(v, "", "head"))
		} else {
			w.outer = append(w.outer, v)
		}
		stack := pick(w.r, []string{"blocks", "blocks", "tail"})
		w.run(stack, w.r.Intn(2) == 0)
		w.bucket()
	}
	for _, stack := range []string{"blocks", "tail"} {
		for _, v := range w.open[stack] {
			fmt.Fprintf(&w.b, "  for %s\n", stack)
			w.own[stack] = append(w.own[stack], w.done(v, "", stack+".{i}"))
			w.b.WriteString("  end for\n")
		}
	}
	// A number is read, as Unrolled drops what nobody reads.
	for i, stack := range []string{"blocks", "tail"} {
		fmt.Fprintf(&w.b, "  for %s\n    %s : i32[] = call %s at=[64] fn=@int wait=true // %s.{i}\n  end for\n", stack, w.value(), grads[i], stack)
	}
	for _, stack := range []string{"blocks", "tail"} {
		if own := w.own[stack]; len(own) > 2 {
			fmt.Fprintf(&w.b, "  result %s grad \"%s.{i+3}.w\"\n", own[2+w.r.Intn(len(own)-2)], stack)
		}
	}
	fmt.Fprintf(&w.b, "  result %s loss\nend\n", w.outer[len(w.outer)-1])
	return w.b.String() + kernelsOfTests
}

const kernelsOfTests = `
func @exp class=kernel kind=map
  arg %0 : f32[a=16] in
  %1 : f32[a=16] = exp %0
  result %1 out
end

func @int class=kernel kind=map
  arg %0 : i32[] in
  %1 : i32[] = add %0, %0
  result %1 out
end

func @add class=kernel kind=map
  arg %0 : f32[a=16] in
  arg %1 : f32[a=16] in
  %2 : f32[a=16] = add %0, %1
  result %2 out
end
`

// listed is a plan in which instructions, tensors and ports name buffers by what
// they are, and not by their order.
func listed(p *program.Plan) []string {
	var out []string
	for i := range p.Devices {
		d := &p.Devices[i]
		buffer := func(n int) string {
			b := d.Buffers[n]
			b.Space = ""
			return fmt.Sprintf("%+v", b)
		}
		out = append(out, fmt.Sprint("device ", d.At, d.Arena, d.Host, d.Disk, len(d.Stacks)))
		from := len(out)
		for _, t := range d.Tensors {
			out = append(out, fmt.Sprint("tensor ", t.Path, t.Init, t.Train, t.Of, buffer(t.Buffer)))
		}
		for _, x := range d.Ports {
			out = append(out, fmt.Sprint("port ", x.Program, x.Role, x.Path, x.After, x.Number, buffer(x.Buffer)))
		}
		slices.Sort(out[from:]) // of instances, tensors and ports stand in either order
		for _, prog := range d.Progs {
			out = append(out, fmt.Sprint("program ", prog.Name, len(prog.Runs)))
			for j, in := range prog.Instrs {
				s := fmt.Sprint(j, " ", in.Kernel, in.Scope, in.NoWait, in.Pos, in.Ahead)
				if in.Comm != nil {
					s += fmt.Sprintf(" %+v", *in.Comm)
				}
				for _, b := range in.Bufs {
					s += " " + buffer(b)
				}
				out = append(out, s)
			}
		}
	}
	return out
}

// TestRunsAreTheProgramWrittenOut: assembling a module with runs and writing the plan
// out gives the plan of the module that is written out.
func TestRunsAreTheProgramWrittenOut(t *testing.T) {
	to, err := backend.Resolve("ref")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range int64(400) {
		text := randomRuns(seed)
		m, errs := ir.Parse("runs.ptir", []byte(text))
		if len(errs) > 0 {
			t.Fatalf("seed %d: %v\n%s", seed, errs, text)
		}
		rolled, err := assemble.Plan(m, to)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		got, err := rolled.Expanded()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want, err := assemble.Plan(m.Unrolled(), to)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if d := cmp.Diff(listed(want), listed(got)); d != "" {
			t.Fatalf("seed %d: the runs written out (+) and the module written out (-):\n%s\n%s", seed, d, text)
		}
		if want.Stats != got.Stats {
			t.Errorf("seed %d: %+v, want %+v", seed, got.Stats, want.Stats)
		}
	}
}
