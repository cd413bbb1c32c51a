package overlap_test

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/verify"
	"ptc/passes/overlap"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// Forms of the values of a random module on two devices: a matrix in shards or
// replicated, a vector likewise, or as a partial sum.
const (
	shards    = "f32[a=2@dp, b=4]"
	matrix    = "f32[a=4, b=4]"
	vector    = "f32[b=4]"
	part      = "f32[b=2@dp]"
	unreduced = "f32[b=4] partial(dp)"
)

// kernels by what they read and make.
var kernels = []struct{ kind, body, out string }{
	{"map", "tanh " + shards, shards},
	{"map", "mul " + shards + "; " + vector, shards},
	{"map", "tanh " + matrix, matrix},
	{"map", "add " + matrix + "; " + vector, matrix},
	{"row", "reduce_sum " + matrix, vector},
	{"map", "mul " + vector + "; " + vector, vector},
	{"map", "tanh " + part, part},
	{"row", "reduce_sum " + shards, unreduced},
}

// forms are what microbatches may add up to, and how `enter_tick` says each.
var forms = []struct{ form, says string }{
	{shards, "axes={a=2, b=4} dtype=f32 mesh={a:dp}"},
	{matrix, "axes={a=4, b=4} dtype=f32"},
	{vector, "axes={b=4} dtype=f32"},
	{part, "axes={b=2} dtype=f32 mesh={b:dp}"},
	{unreduced, "axes={b=4} dtype=f32"},
}

// collectives by what they read and make.
var collectives = []struct{ text, in, out string }{
	{"all_gather %s axis=a over=(dp) parts=2", shards, matrix},
	{"all_gather %s axis=b over=(dp) parts=2", part, vector},
	{"all_reduce %s over=(dp) reduce=sum", unreduced, vector},
	{"reduce_scatter %s axis=b over=(dp) parts=2 reduce=sum", unreduced, part},
}

// author writes a random module: runs of one stack, and operations between them; of a
// pipeline, in tasks.
type author struct {
	r    *rand.Rand
	b    strings.Builder
	next int
	once map[string][]string // values outside, by form
	each map[string][]string // of each instance
	// sums are what microbatches add up to, outside of runs and of each instance; nil in
	// tasks that run once.
	sums, eachSums map[string][]string
}

func (w *author) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

func (w *author) value() string {
	w.next++
	return fmt.Sprintf("%%%d", w.next)
}

func (w *author) pick(form string, from ...map[string][]string) string {
	var all []string
	for _, m := range from {
		all = append(all, m[form]...)
	}
	if len(all) == 0 {
		return ""
	}
	if w.r.Intn(3) > 0 { // mostly what is new
		all = all[max(0, len(all)-4):]
	}
	return all[w.r.Intn(len(all))]
}

// operations adds some that read values of the maps and puts theirs into the first.
func (w *author) operations(n int, indent, scope string, from ...map[string][]string) {
	for range n {
		if w.sums != nil && w.r.Intn(4) == 0 {
			w.accumulate(indent, scope, from...)
			continue
		}
		if w.r.Intn(2) == 0 {
			c := collectives[w.r.Intn(len(collectives))]
			if x := w.pick(c.in, from...); x != "" {
				v := w.value()
				w.line("%s%s : %s = %s // %s", indent, v, c.out, fmt.Sprintf(c.text, x), scope)
				from[0][c.out] = append(from[0][c.out], v)
			}
			continue
		}
		k := w.r.Intn(len(kernels))
		_, forms, _ := strings.Cut(kernels[k].body, " ")
		var args []string
		for _, form := range strings.Split(forms, "; ") {
			if x := w.pick(form, from...); x != "" {
				args = append(args, x)
			}
		}
		if len(args) == strings.Count(forms, ";")+1 {
			v := w.value()
			w.line("%s%s : %s = call %s fn=@k%d // %s", indent, v, kernels[k].out, strings.Join(args, ", "), k, scope)
			from[0][kernels[k].out] = append(from[0][kernels[k].out], v)
		}
	}
}

// accumulate adds something up over the microbatches.
func (w *author) accumulate(indent, scope string, from ...map[string][]string) {
	k := w.r.Intn(len(forms))
	f := forms[k]
	x := w.pick(f.form, from...)
	if x == "" {
		return
	}
	before, sum, after := w.value(), w.value(), w.value()
	w.line("%s%s : %s = enter_tick %s // %s", indent, before, f.form, f.says, scope)
	w.line("%s%s : %s = call %s, %s fn=@add%d fn_first=@first%d // %s", indent, sum, f.form, before, x, k, k, scope)
	w.line("%s%s : %s = leave_tick %s, %s // %s", indent, after, f.form, before, sum, scope)
	if to := w.sums; strings.HasPrefix(scope, "l.") {
		w.eachSums[f.form] = append(w.eachSums[f.form], after)
	} else {
		to[f.form] = append(to[f.form], after)
	}
}

// tasks writes what each microbatch does, in one to three tasks; what is there after all
// of them is what they add up to.
func (w *author) tasks(number string, tasks int) {
	once, each := copied(w.once), copied(w.each)
	w.sums, w.eachSums = map[string][]string{}, map[string][]string{}
	for i := range tasks {
		w.line("  do t%d", i)
		v := w.value()
		w.line("  %s : %s = call %s, %s fn=@number // o", v, matrix, w.pick(matrix, w.once), number)
		w.once[matrix] = append(w.once[matrix], v)
		w.stretch()
		w.line("  end do")
	}
	for form, sums := range w.sums {
		once[form] = append(once[form], sums...)
	}
	for form, sums := range w.eachSums {
		each[form] = append(each[form], sums...)
	}
	w.once, w.each, w.sums, w.eachSums = once, each, nil, nil
}

func copied(m map[string][]string) map[string][]string {
	out := map[string][]string{}
	for k, v := range m {
		out[k] = slices.Clone(v)
	}
	return out
}

// ticks are those of so many tasks in a random order in which each microbatch has them
// one after the other.
func (w *author) ticks(tasks, micro int) string {
	out := "before"
	next := make([]int, tasks) // microbatch of each task
	for next[tasks-1] < micro {
		if t := w.r.Intn(tasks); next[t] < micro && (t == 0 || next[t] < next[t-1]) {
			out += fmt.Sprintf(" t%d:%d", t, next[t])
			next[t]++
		}
	}
	return out + " after"
}

// stretch writes runs, with operations before, between and after them.
func (w *author) stretch() {
	for range 1 + w.r.Intn(3) {
		w.operations(w.r.Intn(5), "  ", "o", w.once)
		w.run()
	}
	w.operations(w.r.Intn(6), "  ", "o", w.once)
}

// run writes a run with one or two values that go from instance to instance.
func (w *author) run() {
	way := ""
	if w.r.Intn(2) == 0 {
		way = " down"
	}
	w.line("  for l%s", way)
	here := map[string][]string{}
	type carried struct{ form, entered string }
	var all []carried
	for _, form := range []string{matrix, vector, shards}[:1+w.r.Intn(3)] {
		if x := w.pick(form, w.once); x != "" {
			v := w.value()
			w.line("    %s : %s = enter %s // l.{i}", v, form, x)
			all = append(all, carried{form, v})
			here[form] = append(here[form], v)
		}
	}
	w.operations(4+w.r.Intn(14), "    ", "l.{i}", here, w.each, w.once)
	for _, c := range all {
		v := w.value()
		w.line("    %s : %s = leave %s, %s // l.{i}", v, c.form, c.entered, w.pick(c.form, here))
		w.once[c.form] = append(w.once[c.form], v)
	}
	w.line("  end for")
	for _, form := range []string{shards, matrix, vector, part, unreduced} {
		for _, v := range here[form] {
			if !strings.Contains(w.b.String(), v+" : "+form+" = enter") {
				w.each[form] = append(w.each[form], v)
			}
		}
	}
}

// module is a random one, of so many tasks of microbatches or none; some of what is made
// are its results.
func module(r *rand.Rand, tasks int) string {
	w := &author{r: r, once: map[string][]string{}, each: map[string][]string{}, next: 6}
	count := 1 + r.Intn(5)
	w.line("ptir 1 fused \"random\"\nmesh dp=2")
	rules := []string{fmt.Sprintf("zero(at=\"t:1:1\", level=3, over=(dp), prefetch=%d)", r.Intn(4))}
	if r.Intn(2) == 0 {
		rules = append(rules, fmt.Sprintf("bucket(at=\"t:1:1\", bytes=%d)", []int{0, 40, 80, 1 << 20}[r.Intn(4)]))
	}
	w.line("meta layout(name=\"t\", rules=[%s])\n", strings.Join(rules, ", "))
	if micro := 1 + r.Intn(4); tasks == 0 {
		w.line("func @step class=entry\n  stack l count=%d", count)
	} else {
		w.line("func @step class=entry microbatches=%d\n  stack l count=%d\n  task before once", micro, count)
		for t := range tasks {
			w.line("  task t%d", t)
		}
		w.line("  task after once\n  ticks %s", w.ticks(tasks, micro))
		w.line("  arg %%6 : i32[] each microbatch index \"microbatch.{i}\"")
	}
	for i, a := range []string{matrix, vector, shards} {
		w.line("  arg %%%d : %s data \"x%d\"", i, a, i)
		w.once[a] = append(w.once[a], fmt.Sprintf("%%%d", i))
	}
	for i, a := range []string{shards, part} {
		w.line("  arg %%%d : %s each l param \"l.{i}.w%d\"", i+3, a, i)
		w.each[a] = append(w.each[a], fmt.Sprintf("%%%d", i+3))
	}
	if tasks > 0 {
		w.line("  do before")
		w.stretch()
		w.line("  end do")
		w.tasks("%6", tasks)
		w.line("  do after")
	}
	w.stretch()
	if tasks > 0 {
		w.line("  end do")
	}
	for n, form := range []string{shards, matrix, vector, part} {
		w.line("  result %s grad \"x%d\"", w.pick(form, w.once, map[string][]string{part: {"%1"}}), n)
		if v := w.pick(form, w.each); v != "" && v != "%3" && v != "%4" {
			role, path := "grad", fmt.Sprint("y", n)
			if form == shards || form == part {
				role, path = "param", fmt.Sprint("w", n/3)
			}
			w.line("  result %s %s \"l.{i}.%s\"", v, role, path)
		}
	}
	w.line("end")
	for i, k := range kernels {
		name, forms, _ := strings.Cut(k.body, " ")
		w.line("\nfunc @k%d class=kernel kind=%s", i, k.kind)
		var args []string
		for j, form := range strings.Split(forms, "; ") {
			w.line("  arg %%%d : %s in", j, form)
			args = append(args, fmt.Sprintf("%%%d", j))
		}
		over := ""
		if k.kind == "row" {
			over = " over=(a)"
		}
		w.line("  %%9 : %s = %s %s%s\n  result %%9 out\nend", k.out, name, strings.Join(args, ", "), over)
	}
	if tasks > 0 {
		w.line("\nfunc @number class=kernel kind=map\n  arg %%0 : %[1]s in\n  arg %%1 : i32[] in\n  %%2 : f32[] = cast %%1 to=f32\n  %%3 : %[1]s = add %%0, %%2\n  result %%3 out\nend", matrix)
		for i, f := range forms {
			w.line("\nfunc @first%d class=kernel kind=map\n  arg %%0 : %[2]s in\n  %%1 : %[2]s = neg %%0\n  result %%1 out\nend", i, f.form)
			w.line("\nfunc @add%d class=kernel kind=map\n  arg %%0 : %[2]s in\n  arg %%1 : %[2]s in\n  %%2 : %[2]s = neg %%1\n  %%3 : %[2]s = add %%0, %%2\n  result %%3 out\nend", i, f.form)
		}
	}
	return w.b.String()
}

// TestRandomRuns: of random modules with runs, what overlap makes is valid, as it
// stands and written out, has the numbers of before and computes the same on two
// devices, in whatever order the ticks bring.
func TestRandomRuns(t *testing.T) {
	ahead, behind := 0, 0
	for seed := range int64(200) {
		_, m := overlapped(t, seed, 0)
		for _, o := range m.Func("step").Ops {
			if o.Ahead > 0 && o.Start {
				ahead++
			}
			if o.Ahead < 0 && op.Has(o, op.Completes) {
				behind++
			}
		}
	}
	if ahead < 50 || behind < 50 {
		t.Errorf("%d gathers are ahead, %d reductions done behind: too few to prove anything", ahead, behind)
	}
}

// TestRandomTasks: likewise of modules with tasks, in whatever order these have their
// ticks; and each task has the kernels, exchanges and sums of before.
func TestRandomTasks(t *testing.T) {
	across, buckets := 0, 0
	for seed := range int64(60) {
		before, m := overlapped(t, seed, 1+int(seed%3))
		if errs := verify.Module(m.Unrolled()); len(errs) > 0 {
			t.Fatalf("seed %d: ticks written out: %v\n%s", seed, errs, ir.Print(m))
		}
		if a, b := work(before), work(m); !maps.Equal(a, b) {
			t.Fatalf("seed %d: tasks had %v, and have %v\n%s\n%s", seed, a, b, ir.Print(before), ir.Print(m))
		}
		for _, o := range m.Func("step").Ops {
			if len(o.Results) > 1 && !op.Has(o, op.Completes) {
				buckets++
			}
			for _, a := range o.Args {
				if a.Def != nil && a.Def.Task != o.Task && op.Has(a.Def, op.Completes) {
					across++
				}
			}
		}
	}
	if across < 50 || buckets < 50 {
		t.Errorf("%d operations read what another task has exchanged, %d buckets: too few to prove anything", across, buckets)
	}
}

// work is how many values each kind of operation makes, by task and by run of it; what
// waits for one that was started makes none.
func work(m *ir.Module) map[string]int {
	n, run := map[string]int{}, 0
	m.Func("step").Runs(func(r *ir.Run, ops []*ir.Op) {
		where := ops[0].Task.Name
		if r != nil {
			run++
			where += fmt.Sprint(" run ", run)
		}
		for _, o := range ops {
			if !op.Has(o, op.Completes) {
				n[where+" "+o.Name] += len(o.Results)
			}
		}
	})
	return n
}

// overlapped is a random module before and after the pass, which is proved.
func overlapped(t *testing.T, seed int64, tasks int) (before, after *ir.Module) {
	t.Helper()
	text := module(rand.New(rand.NewSource(seed)), tasks)
	m, errs := ir.Parse("random.ptir", []byte(text))
	if len(errs) == 0 {
		errs = verify.Module(m)
	}
	if len(errs) > 0 {
		t.Fatalf("seed %d: %v\n%s", seed, errs, text)
	}
	before = m.Clone()
	if err := overlap.Run(&pass.Context{}, m); err != nil {
		t.Fatal(err)
	}
	passtest.Numbered(t, before, m)
	if errs := verify.Module(m.Unrolled()); len(errs) > 0 {
		t.Fatalf("seed %d: written out: %v\n%s", seed, errs, ir.Print(m))
	}
	passtest.Same(t, before, m)
	if t.Failed() {
		t.Fatalf("seed %d:\n%s\n%s", seed, text, ir.Print(m))
	}
	return before, m
}
