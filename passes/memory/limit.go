package memory

import (
	"fmt"
	"sort"
	"strings"

	"ptc/internal/diag"
	"ptc/internal/units"
	"ptc/ir"
	directives "ptc/ir/layout"
)

// limit is the layout's `device memory`, in bytes, and where it is said; 0
// where it is not.
func limit(m *ir.Module) (int64, diag.Pos) {
	for _, r := range directives.All[*directives.Device](directives.Of(m)) {
		return r.Memory, r.At
	}
	return 0, diag.Pos{}
}

// fits returns an error that shows what fills the memory of a device whose
// arena is larger than the layout allows.
func (p *planner) fits(temps map[*ir.Func][]*buffer) error {
	most, pos := limit(p.m)
	if most <= 0 || p.peak[ir.Device] <= most {
		return nil
	}
	kinds := map[string]int64{}
	for _, f := range p.entries[:1] {
		for _, a := range f.Args {
			if a.Memory == ir.Device {
				kinds[a.Role] += aligned(int64(a.Value.Type.Bytes())) * int64(a.Value.Count())
			}
		}
	}
	e := &diag.Error{Code: "E0611", Pos: pos,
		Msg:  fmt.Sprintf("a device needs %s of memory", units.AtLeast(p.peak[ir.Device])),
		Want: "at most " + units.Bytes(most) + ", as the layout says",
		Hint: "shard more (zero, tensor or pipeline parallel), use more microbatches (accumulate, or those of a pipeline), recompute, or offload"}
	grads := accumulators(p.entries[0])
	text := fmt.Sprintf("parameters %s, optimizer state %s, ", units.Bytes(kinds[ir.RoleParam]), units.Bytes(kinds[ir.RoleState]))
	if grads > 0 {
		text += fmt.Sprintf("gradients that microbatches add up %s, ", units.Bytes(grads))
	}
	text += "temporaries " + units.Bytes(p.peak[ir.Device]-p.top[ir.Device]-grads)
	if of := p.each(temps); len(of) > 1 {
		text += ": " + strings.Join(of, ", ")
	}
	e.Note = append(e.Note, diag.Note{Msg: text})
	for _, b := range p.atPeak(temps) {
		e.Note = append(e.Note, diag.Note{Msg: b})
	}
	return e
}

// accumulators are the bytes of the gradients that the microbatches of f add up, which live as long as the step.
func accumulators(f *ir.Func) (sum int64) {
	for _, o := range f.Ops {
		if o.Name == ir.LeaveTick && o.Result().Type.Rank() > 0 {
			v := o.Result()
			sum += aligned(int64(v.Type.Bytes())) * int64(v.Count())
		}
	}
	return sum
}

// each is what the temporaries of each function take, which lie in one place: training and
// validation never run at the same time.
func (p *planner) each(temps map[*ir.Func][]*buffer) (out []string) {
	for _, f := range p.entries {
		end := p.top[ir.Device]
		for _, b := range temps[f] {
			end = max(end, b.offset+b.size())
		}
		out = append(out, fmt.Sprintf("%s of @%s", units.Bytes(end-p.top[ir.Device]), f.Name))
	}
	return out
}

// atPeak describes the largest temporaries that live when most are.
func (p *planner) atPeak(temps map[*ir.Func][]*buffer) []string {
	var out []string
	for _, f := range p.entries {
		at, live := 0, int64(-1)
		for i := range f.Ops {
			var sum int64
			for _, b := range temps[f] {
				if b.lo <= i && i <= b.hi {
					sum += b.size()
				}
			}
			if sum > live {
				at, live = i, sum
			}
		}
		var now []use
		for _, b := range temps[f] {
			now = append(now, b.uses(at)...)
		}
		sort.SliceStable(now, func(i, j int) bool { return now[i].bytes > now[j].bytes })
		for _, u := range now[:min(5, len(now))] {
			out = append(out, fmt.Sprintf("@%s, when most is live: %s for %s", f.Name, units.Bytes(u.bytes), u.what))
		}
	}
	return out
}

// use is bytes and what they are for.
type use struct {
	bytes int64
	what  string
}

// uses are what is in b while an operation runs: of a row, what each of its members has
// for all microbatches, and of a frame, for all instances.
func (b *buffer) uses(at int) []use {
	switch {
	case b.lo > at || at > b.hi:
		return nil
	case b.row != nil && b.row.whole == b:
		var out []use
		for _, c := range b.row.members {
			for _, u := range c.uses(at) {
				out = append(out, use{u.bytes * int64(b.row.ring), fmt.Sprintf("%s, for each of %d microbatches", u.what, b.row.ring)})
			}
		}
		return out
	case b.values == nil:
		var out []use
		for _, c := range b.frame.members {
			for _, u := range c.uses(at) {
				n := int64(b.frame.stack.Count)
				out = append(out, use{u.bytes * n, fmt.Sprintf("%s, for each of %d `%s`", u.what, n, b.frame.stack.Name)})
			}
		}
		return out
	}
	v := b.values[0]
	return []use{{b.size(), fmt.Sprintf("%s made in %s", v.Type, scope(v.Def))}}
}

func scope(o *ir.Op) string {
	if o == nil || o.Scope == "" {
		return "the model"
	}
	return o.Scope
}
