package overlap

import (
	"fmt"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/verify"
)

func init() {
	for _, l := range []ir.Level{ir.Local, ir.Fused, ir.Planned} {
		verify.AtLevel(l, "started collectives", Check)
	}
}

// Check proves that every started collective is awaited once: its results are the
// operands, all of them and in order, of one `done` of the same task and run, and nothing
// else reads them; and that not too many are in flight. In a run the text is that of one
// instance. The number of instances in flight follows from the place of the `done` and its
// distance in iterations, so the cost of the check does not depend on the number of
// instances.
func Check(m *ir.Module) diag.List {
	var bugs diag.List
	for _, f := range m.Funcs {
		c := &checker{f: f, pending: map[*ir.Value]*ir.Op{}, open: map[string]int{}}
		c.check()
		bugs = append(bugs, c.bugs...)
	}
	return bugs
}

// checker visits the operations of a function.
type checker struct {
	f       *ir.Func
	pending map[*ir.Value]*ir.Op // results started and not done, in the text
	open    map[string]int       // collectives in flight in the task outside of runs, by mesh axes
	task    *ir.Task             // of the current operation
	run     *ir.Run              // likewise
	flights []*flight            // of the run
	of      map[*ir.Op]*flight
	bugs    diag.List
}

func (c *checker) bug(o *ir.Op, format string, args ...any) {
	c.bugs = append(c.bugs, &diag.Error{Code: "E0393", Pos: o.Pos, Msg: fmt.Sprintf("@%s: ", c.f.Name) + fmt.Sprintf(format, args...)})
}

func (c *checker) check() {
	for i, o := range c.f.Ops {
		if o.Run != c.run || o.Task != c.task {
			c.endRun()
			c.run, c.of = o.Run, map[*ir.Op]*flight{}
		}
		if o.Task != c.task { // between ticks, nothing is under way
			c.task, c.open = o.Task, map[string]int{}
		}
		if op.Has(o, op.Completes) {
			c.done(o, i)
			continue
		}
		for _, a := range o.Args {
			if c.pending[a] != nil || a.Def != nil && a.Def.Start {
				c.bug(o, "`%s` reads %%%d before its `done`", o.Name, a.ID)
			}
		}
		if o.Start {
			c.start(o, i)
		}
	}
	c.endRun()
	for _, o := range c.f.Ops {
		if len(o.Results) > 0 && c.pending[o.Results[0]] != nil {
			c.bug(o, "`%s` is started and never done", o.Name)
		}
	}
	for _, r := range c.f.Results {
		if r.Value.Def != nil && r.Value.Def.Start {
			c.bug(r.Value.Def, "result %s %q leaves before its `done`", r.Role, r.Path)
		}
	}
}

func (c *checker) start(o *ir.Op, i int) {
	for _, r := range o.Results {
		c.pending[r] = o
	}
	if o.Run != nil {
		y := &flight{x: o, from: i, to: len(c.f.Ops), ahead: o.Ahead}
		c.flights, c.of[o] = append(c.flights, y), y
		return
	}
	mesh := over(o)
	if c.open[mesh]++; c.open[mesh] > MaxOpen {
		c.tooMany(o, mesh)
	}
}

func (c *checker) tooMany(o *ir.Op, mesh string) {
	c.bug(o, "more than %d collectives over (%s) are under way", MaxOpen, mesh)
}

func (c *checker) done(o *ir.Op, i int) {
	x := o.Args[0].Def
	if x == nil || !x.Start || len(x.Results) != len(o.Args) {
		c.bug(o, "`done` of what was not started")
		return
	}
	if x.Task != o.Task || x.Run != o.Run {
		c.bug(o, "`done` of what was started in another task or run")
	}
	for k, a := range o.Args {
		if a != x.Results[k] || c.pending[a] != x {
			c.bug(o, "`done` of %%%d, which is not under way", a.ID)
		}
		delete(c.pending, a)
	}
	if y := c.of[x]; y != nil {
		y.to, y.ahead = i, o.Ahead
	} else if x.Run == nil && x.Task == o.Task {
		c.open[over(x)]--
	}
}

// endRun counts the collectives in flight at each start in a run, including those during the entire run.
func (c *checker) endRun() {
	of := map[string][]*flight{}
	for _, y := range c.flights {
		of[over(y.x)] = append(of[over(y.x)], y)
	}
	inFlight := map[*flight]int{}
	for mesh, flights := range of {
		for i, n := range underWayAt(flights, c.run.Stack.Count) {
			inFlight[flights[i]] = n + c.open[mesh]
		}
	}
	for _, y := range c.flights {
		if inFlight[y] > MaxOpen {
			c.tooMany(y.x, over(y.x))
		}
	}
	c.flights = nil
}
