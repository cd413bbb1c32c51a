package order

import (
	"fmt"

	"ptc/internal/diag"
	"ptc/internal/ranges"
	"ptc/ir"
	"ptc/ir/excerpt"
	"ptc/ir/op"
	"ptc/ir/verify"
)

func init() { verify.AtLevelInRuns(ir.Planned, "waits", check) }

// access is bytes that a call uses since the last wait.
type access struct {
	excerpt.Spot
	writes bool
	call   int
}

// Check proves that no call that does not wait touches bytes that a call since
// the last wait writes, or writes those that one of them reads; and that every
// exchange waits, as do transfers, so that what is in other memories needs no
// proof. Functions without waits, which this package has not seen yet,
// have nothing to prove. Of functions with runs it is proved of an excerpt.
func Check(m *ir.Module) diag.List { return check(m, verify.Runs{}) }

func check(m *ir.Module, runs verify.Runs) diag.List {
	var bugs diag.List
	for _, f := range m.Funcs {
		if f.Class != ir.Kernel {
			bugs = append(bugs, waits(f, runs)...)
		}
	}
	return bugs
}

func waits(f *ir.Func, runs verify.Runs) diag.List {
	var bugs diag.List
	bug := func(o *ir.Op, format string, args ...any) {
		bugs = append(bugs, &diag.Error{Code: "E0394", Pos: o.Pos, Msg: fmt.Sprintf("@%s: ", f.Name) + fmt.Sprintf(format, args...)})
	}
	ordered := 0
	for _, o := range f.Ops {
		if o.Wait != ir.WaitUnset {
			ordered++
		}
	}
	if ordered == 0 {
		return nil
	}
	for i, o := range f.Ops {
		if o.Wait == ir.WaitUnset && !ends(o) {
			bug(o, "%d: `%s` does not say whether it waits", i, o.Name)
			return bugs
		}
	}
	starts(f, bug)
	f.Runs(func(run *ir.Run, ops []*ir.Op) {
		for _, o := range ops {
			if o.Wait == ir.WaitFirst && (run == nil || len(ops) > 1 || o.Callee == nil) {
				bug(o, "`%s` waits for its first instance, and is not a call alone in a run", o.Name)
			}
		}
	})
	x := runs.Of(f)
	p := &prover{x: x, at: ir.ByValueOf[int64](x.F), elsewhere: op.Memories(x.F), bug: bug, touched: make([]bool, len(x.Frames))}
	for _, a := range x.F.Args {
		p.at.Set(a.Value, a.At.Bytes())
	}
	for i, o := range x.F.Ops {
		p.visit(i, o)
	}
	return bugs
}

// starts reports tasks whose slot begins while calls of the previous one are in flight.
func starts(f *ir.Func, bug func(o *ir.Op, format string, args ...any)) {
	begun := map[*ir.Task]bool{nil: true}
	begin := func(o *ir.Op) {
		if ends(o) || op.Has(o, op.InPlace) || begun[o.Task] || o.TickAhead() {
			return // nothing to do, or of another tick
		}
		if begun[o.Task] = true; o.Wait != ir.WaitAll && o.Wait != ir.WaitFirst {
			bug(o, "task `%s` begins with `%s`, which does not wait", o.Task.Name, o.Name)
		}
	}
	p := f.Rolled()
	for task := range p.Tasks {
		for i := range p.InTick(task) {
			if begin(f.Ops[i]); begun[f.Ops[i].Task] {
				break
			}
		}
	}
}

// prover goes through a function with what was used since the last wait.
type prover struct {
	x             excerpt.Excerpt
	at            ir.ByValue[int64]
	elsewhere     map[*ir.Value]ir.Memory
	bug           func(o *ir.Op, format string, args ...any)
	since         []access
	reads, writes ranges.Map[bool] // the bytes of since: most calls meet none of them
	touched       []bool           // frames, by since
}

func (p *prover) visit(i int, o *ir.Op) {
	if o.Wait == ir.WaitAll {
		p.since, p.reads, p.writes = p.since[:0], ranges.Map[bool]{}, ranges.Map[bool]{}
		clear(p.touched)
	} else if op.Of(o).Class == op.Collective && !op.Has(o, op.InPlace) {
		p.bug(o, "%d: `%s` does not wait", i, o.Name)
	}
	mine := make([]access, 0, len(o.Args)+len(o.Results))
	for _, v := range o.Args {
		mine = p.access(mine, v, false, i)
	}
	for j, v := range o.Results {
		if j < len(o.At) { // memory.Check misses others
			p.at.Set(v, o.At[j])
		}
		mine = p.access(mine, v, true, i)
	}
	if op.Has(o, op.InPlace) {
		return // it touches nothing
	}
	for _, x := range mine {
		if !p.maybe(x) {
			continue
		}
		for _, y := range p.since {
			if x.Meets(y.Spot) && (x.writes || y.writes) {
				p.bug(o, "%d: `%s` does not wait for %d, whose bytes from %d on it uses", i, o.Name, y.call, max(x.Lo, y.Lo))
			}
		}
	}
	p.since = append(p.since, mine...)
	for _, x := range mine {
		if x.Frame > 0 {
			p.touched[x.Frame-1] = true
		}
		if x.writes {
			p.writes.Set(x.Lo, x.Hi, true)
		} else {
			p.reads.Set(x.Lo, x.Hi, true)
		}
	}
}

// maybe reports whether x may meet something: bytes of its frame or, if it is in
// none, of all that is in none, or a frame as a whole.
func (p *prover) maybe(x access) bool {
	used := func(lo, hi int64) bool { return p.writes.Any(lo, hi) || x.writes && p.reads.Any(lo, hi) }
	if used(x.Lo, x.Hi) || x.Frame > 0 && used(x.Wide.Lo, x.Wide.Hi) {
		return true
	}
	for n, f := range p.x.Frames {
		if n+1 != x.Frame && p.touched[n] && f.Memory == ir.Device && x.Wide.Meets(f.Span) {
			return true
		}
	}
	return false
}

// access appends that of a value in device memory.
func (p *prover) access(to []access, v *ir.Value, writes bool, call int) []access {
	if p.elsewhere[v] != ir.Device {
		return to
	}
	at := p.at.Of(v)
	return append(to, access{p.x.Spot(ir.Device, at, at+int64(v.Type.Bytes())), writes, call})
}
