package check

import (
	"time"

	"ptc/ir"
	"ptc/ir/eval"
)

// Needs estimates the memory that a [Checker] of the same modules takes, from the shapes of
// their values, without executing anything. Its hook is to be called as the Checker's is.
//
// What is held at a time is the inputs; the results before a pass, and those behind it; and
// the values of the function that is executed, on all devices, each from its operation to
// its last reader. Autodiff holds the directions in which it moves parameters, and what has
// no gradient and so keeps its value.
type Needs struct {
	// Bytes is the most that is needed, of the module as it came ("") or after Pass.
	Bytes int64
	Pass  string

	inputs map[Key]int64
	before int64 // of its results
	body   string
	came   *ir.Module // opened, while gradients are symbolic
	sample int64      // of a sample of the spread, in addition to inputs and results
}

// Hook looks at m.
func (n *Needs) Hook(index int, name string, m *ir.Module, _ time.Duration) error {
	m = m.Unrolled()
	body := functions(m)
	if index > 0 && body == n.body {
		return nil
	}
	n.body = body
	opened := Open(m)
	if n.inputs == nil {
		n.inputs = map[Key]int64{}
	}
	for _, f := range opened.Funcs {
		if f.Class != ir.Kernel {
			n.addInputs(opened, f)
		}
	}
	inputs := int64(0)
	for _, b := range n.inputs {
		inputs = eval.Add(inputs, b)
	}
	held := eval.Add(n.before, inputs)
	after, most := execution(opened)
	n.take(name, index, eval.Add(held, eval.Add(after, most)))
	if symbolic(m) {
		n.came = opened
	} else if n.came != nil {
		n.take(name, index, eval.Add(held, eval.Add(after, differences(n.came))))
		n.came = nil
	}
	if index > 0 && len(narrow(m)) > 0 { // executed once more, and a sample, with arguments that are rounded
		if n.sample == 0 || m.Level <= ir.Global {
			n.sample = most
		}
		n.take(name, index, eval.Add(eval.Add(held, inputs), eval.Add(eval.Add(after, after), eval.Add(after, max(most, n.sample)))))
	}
	n.before = after
	return nil
}

func (n *Needs) take(name string, index int, bytes int64) {
	if bytes <= n.Bytes {
		return
	}
	if n.Bytes, n.Pass = bytes, name; index == 0 {
		n.Pass = ""
	}
}

// addInputs adds the arguments of f that no version had before.
func (n *Needs) addInputs(m *ir.Module, f *ir.Func) {
	for i, a := range f.Args {
		t := a.Value.Type
		if m.Level >= ir.Local {
			t = whole(m, t)
		}
		if k := argKey(a, i); n.inputs[k] == 0 && !(a.Role == ir.RoleState && a.Attrs.Text(ir.AttrCopyOf) != "") {
			n.inputs[k] = eval.TensorBytes(t)
		}
	}
}

// execution is what [Execute] takes in addition to the inputs: the results of all functions, and
// the most of the one that takes most, or of the stages, which are executed at once.
func execution(m *ir.Module) (results, most int64) {
	stages := map[string]int64{}
	count := map[string]int64{}
	for _, f := range m.Funcs {
		if f.Class != ir.Kernel && f.Of != "" {
			count[f.Of]++
		}
	}
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		parts := m.Level >= ir.Local && m.Devices() > 1
		own := int64(0)
		for _, r := range f.Results {
			t := r.Value.Type
			if parts { // and put together from parts, which are in the function's values
				t = whole(m, t)
			}
			own = eval.Add(own, eval.TensorBytes(t))
		}
		results = eval.Add(results, own)
		peak := eval.Bytes(f)
		if !parts {
			most = max(most, peak-min(peak, own)) // its results are among its values
			continue
		}
		for _, a := range f.Args { // each device has its part
			peak = eval.Add(peak, eval.TensorBytes(a.Value.Type))
		}
		all, devices := int64(0), int64(m.Devices())
		if f.Of != "" {
			devices /= count[f.Of]
		}
		for range devices {
			all = eval.Add(all, peak)
		}
		if f.Of == "" {
			most = max(most, all)
			continue
		}
		stages[f.Of] = eval.Add(stages[f.Of], all)
		most = max(most, stages[f.Of])
	}
	return results, most
}

// differences is what the check of gradients takes.
func differences(m *ir.Module) (most int64) {
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		loss := only(m, f.Name, ir.RoleLoss)
		l := loss.Func(f.Name)
		if len(l.Results) == 0 {
			continue
		}
		n := eval.Bytes(l)
		for _, o := range frozen(l) {
			for _, v := range o.Results {
				n = eval.Add(n, eval.TensorBytes(v.Type))
			}
		}
		for _, a := range l.Args {
			if b := eval.TensorBytes(a.Value.Type); a.Role == ir.RoleParam {
				n = eval.Add(n, eval.Add(b, b)) // a direction, and the parameter moved along it
			}
		}
		most = max(most, n)
	}
	return most
}
