package overlap_test

import (
	"fmt"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/verify"
	"ptc/passes/overlap"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// inTasks is a module with gathers in each of two tasks, all of which are read where the
// task ends, or started and done there, with lines in place of its own.
func inTasks(gathers int, started bool, edits ...string) string {
	var b strings.Builder
	b.WriteString("ptir 1 fused \"t\"\nmesh dp=2\nmeta layout(name=\"t\", rules=[bucket(at=\"t:1:1\", bytes=0)])\n\nfunc @step class=entry microbatches=3\n")
	b.WriteString("  task forward\n  task backward\n  task after once\n  ticks forward:0 forward:1 backward:0 backward:1 forward:2 backward:2 after\n  arg %0 : f32[b=4] data \"x\"\n")
	for i := range gathers {
		fmt.Fprintf(&b, "  arg %%%d : f32[b=2@dp] param \"w%d\"\n", i+1, i)
	}
	start, before := "", 0
	if started {
		start = " start=true"
	}
	for t, task := range []string{"forward", "backward"} {
		id := 1000 * (t + 1)
		fmt.Fprintf(&b, "  do %s\n", task)
		for i := range gathers {
			fmt.Fprintf(&b, "  %%%d : f32[b=4] = all_gather %%%d axis=b over=(dp) parts=2%s\n  %%%d : f32[b=4] = call %%%d, %%%d fn=@sum\n", id+i, i+1, start, id+100+i, before, before)
			before = id + 100 + i
		}
		gathered := id
		for i := range gathers {
			if started {
				fmt.Fprintf(&b, "  %%%d : f32[b=4] = done %%%d\n", id+400+i, id+i)
				gathered = id + 400
			}
		}
		for i := range gathers {
			fmt.Fprintf(&b, "  %%%d : f32[b=4] = call %%%d, %%%d fn=@sum\n", id+200+i, before, gathered+i)
			before = id + 200 + i
		}
		if task == "backward" {
			fmt.Fprintf(&b, "  %%%d : f32[b=4] = enter_tick axes={b=4} dtype=f32\n  %%%d : f32[b=4] = call %%%d, %%%d fn=@more fn_first=@same\n  %%%d : f32[b=4] = leave_tick %%%d, %%%d\n",
				id+300, id+301, id+300, before, id+302, id+300, id+301)
		}
		b.WriteString("  end do\n")
	}
	b.WriteString(`  do after
  %2303 : f32[b=4] = call %2302, %2302 fn=@sum
  end do
  result %2303 grad "x"
end

func @sum class=kernel kind=map
  arg %0 : f32[b=4] in
  arg %1 : f32[b=4] in
  %2 : f32[b=4] = add %0, %1
  result %2 out
end

func @more class=kernel kind=map
  arg %0 : f32[b=4] in
  arg %1 : f32[b=4] in
  %2 : f32[b=4] = add %1, %1
  %3 : f32[b=4] = add %0, %2
  result %3 out
end

func @same class=kernel kind=map
  arg %0 : f32[b=4] in
  %1 : f32[b=4] = add %0, %0
  result %1 out
end
`)
	text := b.String()
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			panic(edits[i])
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	return text
}

// TestManyUnderWayInTasks: however many collectives tasks have, at most [overlap.MaxOpen]
// are under way in each, and none between ticks.
func TestManyUnderWayInTasks(t *testing.T) {
	for _, gathers := range []int{1, 31, 32, 33, 50} {
		m := parse(t, inTasks(gathers, false))
		before := m.Clone()
		if err := overlap.Run(&pass.Context{}, m); err != nil {
			t.Fatal(err)
		}
		if errs := append(verify.Module(m), overlap.Check(m.Unrolled())...); len(errs) > 0 {
			t.Fatalf("%d gathers: %v\n%s", gathers, errs, ir.Print(m))
		}
		passtest.Numbered(t, before, m)
		passtest.Same(t, before, m)
		open, most, started := 0, 0, 0
		var task *ir.Task
		for _, o := range m.Func("step").Ops {
			if o.Task != task && open > 0 {
				t.Errorf("%d gathers: %d are under way where task %s ends", gathers, open, task.Name)
			}
			task = o.Task
			if o.Start {
				open, started = open+1, started+1
			} else if o.Name == "done" {
				open--
			}
			most = max(most, open)
		}
		if started != 2*gathers || most != min(gathers, overlap.MaxOpen) {
			t.Errorf("%d gathers in each of 2 tasks: %d started, %d under way at most", gathers, started, most)
		}
	}
}

// TestTasksProved: what is started in a task is done in it, and so many are under way in
// each; anything else is refused.
func TestTasksProved(t *testing.T) {
	const done = "  %1400 : f32[b=4] = done %1000\n"
	never := []string{done, "", "%1100, %1400", "%1100, %1100"}
	for name, edits := range map[string][]string{
		"done in another task":           append(never, "  do backward\n", "  do backward\n"+done),
		"done in a task that runs once":  append(never, "  do after\n", "  do after\n"+done),
		"never done":                     never,
		"read in another task":           {"%1200, %1200 fn", "%1200, %1000 fn"},
		"leaves a tick while under way":  {"leave_tick %2300, %2301", "leave_tick %2300, %2000"},
		"done once more, in another one": {"  do backward\n", "  do backward\n  %1401 : f32[b=4] = done %1000\n"},
	} {
		found := false
		for _, e := range overlap.Check(parse(t, inTasks(1, true, edits...))) {
			found = found || e.Code == "E0393"
		}
		if !found {
			t.Errorf("%s is not refused", name)
		}
	}
	for _, gathers := range []int{1, overlap.MaxOpen, overlap.MaxOpen + 1} {
		m := parse(t, inTasks(gathers, true))
		errs := overlap.Check(m)
		if len(errs) > 0 != (gathers > overlap.MaxOpen) {
			t.Errorf("%d under way in each task: %v", gathers, errs)
		}
		if len(errs) == 0 {
			errs = verify.Module(m)
		}
		if len(errs) > 0 && gathers <= overlap.MaxOpen {
			t.Error(errs)
		}
	}
}

// TestLeavesTickDone: a collective of which a tick leaves the result is not under way.
func TestLeavesTickDone(t *testing.T) {
	const text = `ptir 1 fused "t"
mesh dp=2

func @step class=entry microbatches=2
  stack l count=3
  task all
  ticks all:0 all:1
  arg %0 : f32[b=4] data "x"
  do all
  for l
    %1 : f32[b=4] = enter %0 // l.{i}
    %2 : f32[b=4] = enter_tick axes={b=4} dtype=f32 // l.{i}
    %3 : f32[b=4] = call %2, %1 fn=@sum fn_first=@same // l.{i}
    %4 : f32[b=4] = permute %3 over=(dp) sources=[1, 0] // l.{i}
    %5 : f32[b=4] = leave_tick %2, %4 // l.{i}
    %6 : f32[b=4] = call %1, %1 fn=@sum // l.{i}
    %7 : f32[b=4] = leave %1, %6 // l.{i}
  end for
  end do
  result %5 grad "l.{i}.x"
end

func @sum class=kernel kind=map
  arg %0 : f32[b=4] in
  arg %1 : f32[b=4] in
  %2 : f32[b=4] = add %0, %1
  result %2 out
end

func @same class=kernel kind=map
  arg %0 : f32[b=4] in
  %1 : f32[b=4] = neg %0
  %2 : f32[b=4] = neg %1
  result %2 out
end
`
	m := parse(t, text)
	before := m.Clone()
	if errs := verify.Module(m); len(errs) > 0 {
		t.Fatal(errs)
	}
	if err := overlap.Run(&pass.Context{}, m); err != nil {
		t.Fatal(err)
	}
	if errs := verify.Module(m); len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, ir.Print(m))
	}
	passtest.Same(t, before, m)
}
