package offload

import (
	"fmt"
	"math/rand"
	"testing"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/op"
)

// What runs between two operations is what does where every instance and every tick is
// written out.
func TestKernelsBetween(t *testing.T) {
	soon := 0
	for seed := range int64(400) {
		r := rand.New(rand.NewSource(seed))
		f, runs := program(r)
		begins, ends := bounds(f)
		p := pathsOf(f, begins, ends)
		for range 8 {
			from := runs[0][r.Intn(len(runs[0]))]
			to := runs[1][r.Intn(len(runs[1]))]
			if from >= to {
				continue
			}
			d, b := departure{at: from, run: f.Ops[from].Run}, arrival{at: to, run: f.Ops[to].Run}
			if d.run == nil || b.run == nil {
				d, b = departure{at: ends[from] - 1}, arrival{at: begins[to]}
			}
			far, near := p.between(d, b)
			wantFar, wantNear := writtenOut(f, d, b)
			if soon += int(near); far != wantFar || near != wantNear {
				t.Fatalf("seed %d, %d to %d: %d and %d soon, written out %d and %d", seed, from, to, far, near, wantFar, wantNear)
			}
		}
	}
	if soon < 100 {
		t.Errorf("%d soon", soon)
	}
}

// program is a function with two runs of a stack, in one text or in two tasks, and the
// numbers of their operations, or of some outside.
func program(r *rand.Rand) (*ir.Func, [2][]int) {
	s := &ir.Stack{Name: "blocks", Count: 1 + r.Intn(6)}
	f := &ir.Func{Stacks: []*ir.Stack{s}}
	tasks := []*ir.Task{nil, nil}
	if r.Intn(2) == 0 {
		f.Micro = 1 + r.Intn(4)
		tasks = []*ir.Task{{Name: "forward"}, {Name: "backward"}}
		f.Tasks = tasks
		left := []int{f.Micro, f.Micro}
		for left[1] > 0 {
			k := r.Intn(2)
			if k == 1 && left[1] == left[0] || left[k] == 0 {
				k = 1 - k
			}
			f.Ticks = append(f.Ticks, ir.Tick{Task: tasks[k], Micro: f.Micro - left[k]})
			left[k]--
		}
	}
	var runs [2][]int
	add := func(task *ir.Task, run *ir.Run) {
		x := &ir.Op{Name: []string{op.Call, op.Call, collective.Send}[r.Intn(3)]}
		x.Task, x.Run = task, run
		f.Ops = append(f.Ops, x)
	}
	outside := r.Intn(3) == 0
	for k, task := range tasks {
		for range r.Intn(3) {
			add(task, nil)
		}
		run := &ir.Run{Stack: s, Down: r.Intn(2) == 0}
		if outside {
			run = nil
		}
		for range 1 + r.Intn(4) {
			runs[k] = append(runs[k], len(f.Ops))
			add(task, run)
		}
		for range r.Intn(3) {
			add(task, nil)
		}
	}
	return f, runs
}

// writtenOut counts the calls between d and b by going through all that runs.
func writtenOut(f *ir.Func, d departure, b arrival) (far, near int64) {
	calls := int64(0)
	left := map[string]int64{}
	seen := map[string]bool{}
	for i := range f.Rolled().Issues() {
		x, name := f.Ops[i.Op], fmt.Sprint(i.Micro, " ", i.Instance)
		if x == f.Ops[b.at] && !seen[name] {
			seen[name] = true
			n := calls - left[name]
			if far = max(far, n); n < distance {
				near++
			}
		}
		if op.Has(x, op.Calls) {
			calls++
		}
		if x == f.Ops[d.at] {
			left[name] = calls
		}
	}
	return far, near
}
