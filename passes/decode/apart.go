package decode

import (
	"fmt"

	"ptc/ir"
)

// Apart makes the function in which each sequence is at a position of its own, i32[batch]:
// that of one position, with the batch in every value that depends on the position. So
// prompts of different lengths go on side by side. What is proved of one position holds
// for each sequence, as long as no operation mixes them; where one does, there is an
// error.
func (d *Derived) Apart() (*ir.Func, error) {
	if d.Counts() {
		return nil, fmt.Errorf("experts count the tokens in their slots, and none may be run twice")
	}
	m := newLifter(d, d.Func.Name, d.Batch, d.tokens.Value.Type.Size(d.Batch))
	for _, a := range d.Func.Args {
		t := a.Value.Type.Clone()
		if a.Value == d.at {
			t = m.typed(t)
		}
		m.argument(a, t)
	}
	for _, o := range d.Func.Ops {
		if err := m.again(o); err != nil {
			return nil, err
		}
	}
	for _, r := range d.Func.Results {
		if !m.of[r.Value].Type.SameShape(r.Value.Type) {
			return nil, fmt.Errorf("the state %s is one for all sequences", r.Path)
		}
		m.to.Results = append(m.to.Results, ir.Result{Value: m.of[r.Value], Role: r.Role, Path: r.Path})
	}
	m.finish()
	return m.to, nil
}
