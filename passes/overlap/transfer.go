package overlap

import (
	"slices"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/op"
)

// ahead is how many kernels a transfer may run concurrently with: a copy to the device starts no
// more of them before its reader, and a copy to the host ends no more of them after its start. It
// bounds the device memory that transfers use.
const ahead = 4

// maxLong is the most transfers of an instance that start an iteration early or end an
// iteration later.
const maxLong = MaxOpen / 8

// transfers makes copies between memories run concurrently with kernels, and returns how
// many do:
//
//	done  h2d(k)
//	start h2d(k+1)
//	call  update(k)                 overlaps with h2d(k+1), d2h(k-1)
//	done  d2h(k-1)
//	start d2h(k)
//
// So three pieces of an update are in device memory at a time.
//
// Each text by itself, and no transfer is under way at the same time as a whole run. In a run this is
// so for what one instance updates. Its first copy to the device starts an iteration earlier, and
// its last copy to the host, if it is small, ends an iteration later:
//
//	iteration t    start h2d(t, 1)  start h2d(t+1, 0)  done h2d(t, 0)  …  start d2h(t, n)  done d2h(t-1, n)
func transfers(f *ir.Func) int64 {
	c := &copies{f: f}
	c.each(c.storeLate)
	c.each(c.loadEarly)
	return c.started
}

// copies splits the transfers of a function.
type copies struct {
	f       *ir.Func
	with    map[*ir.Value]*ir.Value
	started int64 // in a step
}

// each goes through the texts of all tasks.
func (c *copies) each(split func(t *text)) {
	c.with = map[*ir.Value]*ir.Value{}
	texts := textsOf(c.f)
	var inside []*text
	for _, t := range texts {
		inside = append(inside, t.all()...)
	}
	splits := make([][]*ir.Op, len(inside))
	for i, t := range inside {
		before := t.ops
		split(t)
		splits[i], t.ops = t.ops, before
	}
	c.f.Replace(c.with) // before the dones, which alone read what is under way, are there
	for i, t := range inside {
		t.ops = splits[i]
	}
	write(c.f, texts)
}

// start marks x as started.
func (c *copies) start(x *ir.Op) {
	x.Start = true
	c.started += c.f.TimesOf(x)
}

// storeLate splits stores: each is done where the next ones start, where its
// result is read, or some kernels later.
func (c *copies) storeLate(t *text) {
	type open struct {
		x       *ir.Op
		kernels int
	}
	var under []open
	var out, sunk []*ir.Op
	kernels := 0
	land := func(n, iterations int) { // the first n of those under way
		for _, s := range under[:n] {
			d := doneOf(c.f, s.x, c.with)
			d.Ahead = iterations
			out = append(out, d)
		}
		under = under[n:]
	}
	end := func() {
		last, room := 0, t.room() // without a kernel behind it
		for last < min(len(under), maxLong) && under[len(under)-1-last].kernels == kernels {
			if room -= moved(under[len(under)-1-last].x); kernels == 0 || room < 0 {
				break
			}
			last++
		}
		land(len(under)-last, 0)
		land(last, -1)
		for _, x := range sunk {
			for _, a := range x.Args {
				if d := c.with[a]; d != nil {
					a = d
				}
				x.Ahead = min(x.Ahead, a.Def.Ahead)
			}
		}
		out = append(out, sunk...)
		sunk = nil
	}
	results := map[*ir.Value]bool{} // stored, or made of what is
	_, to := t.body()
	for i, x := range t.ops {
		if op.Has(x, op.Joins) && results[x.Args[0]] {
			sunk = append(sunk, x) // it moves nothing, and waits for all its pieces
			results[x.Result()] = true
			continue
		}
		n := 0
		for k, s := range under {
			late := op.Has(x, op.Stores) && s.kernels < kernels || kernels-s.kernels >= ahead || reads(x, s.x)
			if late || len(under)-k >= MaxOpen/2 || t.runs[x] != nil {
				n = k + 1
			}
		}
		land(n, 0)
		if i == to {
			end()
		}
		out = append(out, x)
		switch {
		case op.Has(x, op.Calls):
			kernels++
		case op.Has(x, op.Stores):
			c.start(x)
			for _, r := range x.Results {
				results[r] = true
			}
			under = append(under, open{x, kernels})
		}
	}
	end()
	t.ops = out
}

// room is how many bytes the stores may have that are done an iteration later. What is under way
// from iteration to iteration has two places all the time: of what a run loads first and stores
// last, so much that with three pieces in turns it is no more than five are. Of what a run
// only stores, as much as is stored at once.
func (t *text) room() int64 {
	var most, first, stored int64
	kernels, loads := 0, 0
	for _, x := range t.ops {
		switch {
		case op.Has(x, op.Calls):
			kernels++
		case op.Has(x, op.Stores):
			stored = max(stored, moved(x))
		case op.Has(x, op.Loads):
			if loads++; kernels == 0 {
				first += moved(x)
			}
			most = max(most, moved(x))
		}
	}
	switch {
	case t.run == nil:
		return 0
	case loads == 0:
		return stored
	case loads <= 3:
		return most
	}
	return most - first
}

// moved is the bytes that a transfer copies.
func moved(x *ir.Op) (n int64) {
	for _, v := range x.Results {
		n += int64(v.Type.Bytes())
	}
	return n
}

// doneOf is the done of a started operation, whose results take the place of its
// own.
func doneOf(f *ir.Func, x *ir.Op, with map[*ir.Value]*ir.Value) *ir.Op {
	d := f.NewOp(collective.Done, x.Results, nil, ir.CloneTypes(x.Results)...)
	d.Scope, d.Pos, d.Task, d.Run = x.Scope, x.Pos, x.Task, x.Run
	for i, r := range x.Results {
		with[r] = d.Results[i]
	}
	return d
}

// loadEarly splits loads: all that one operation reads are started where
// those before them are done, but not too early.
func (c *copies) loadEarly(t *text) {
	first := readers(t.ops)
	at, kernels := map[*ir.Op]int{}, make([]int, len(t.ops)+1)
	begin, _ := t.body() // or behind the last run
	ends := make([]int, len(t.ops)+1)
	for i, x := range t.ops {
		at[x] = i
		kernels[i+1] = kernels[i]
		if op.Has(x, op.Calls) {
			kernels[i+1]++
		}
	}
	ends[len(t.ops)] = len(t.ops) // the next run, or the end
	for i := len(t.ops) - 1; i >= 0; i-- {
		if ends[i] = ends[i+1]; t.runs[t.ops[i]] != nil {
			ends[i] = i
		}
	}
	starts, dones := map[int][]*ir.Op{}, map[int][]*ir.Op{}
	next := map[int][]*ir.Op{} // of the next instance, behind what this one loads before it needs them
	early := map[*ir.Op]bool{}
	var before, now int // readers of the loads before, and of these
	open := 0
	for i, x := range t.ops {
		if t.runs[x] != nil {
			begin = i + 1
		}
		if !op.Has(x, op.Loads) {
			continue
		}
		to := ends[i]
		for _, r := range x.Results {
			to = min(to, first(r))
		}
		if to != now {
			before, now, open = now, to, 0
		}
		from := max(begin, before)
		for kernels[to]-kernels[from] > ahead {
			from++
		}
		for _, a := range x.Args {
			if d, here := at[a.Def]; here {
				from = max(from, d+1)
			}
		}
		from = min(from, i)
		if alone := kernels[to] == kernels[from]; alone && t.run != nil && from == begin && kernels[len(t.ops)] > 0 && open < maxLong {
			x.Ahead = 1
			next[to] = append(next[to], x)
		} else if alone || open >= MaxOpen/4 {
			continue
		} else {
			starts[from] = append(starts[from], x)
		}
		open++
		early[x] = true
		dones[to] = append(dones[to], doneOf(c.f, x, c.with))
		c.start(x)
	}
	var out []*ir.Op
	for i := 0; i <= len(t.ops); i++ {
		if next[i] != nil {
			out = append(append(append(out, starts[i]...), next[i]...), dones[i]...)
		} else {
			out = append(append(out, dones[i]...), starts[i]...)
		}
		if i < len(t.ops) && !early[t.ops[i]] {
			out = append(out, t.ops[i])
		}
	}
	t.ops = out
}

// elsewhere reports whether a function moves anything between memories.
func elsewhere(f *ir.Func) bool {
	return slices.ContainsFunc(f.Ops, func(x *ir.Op) bool { return op.Has(x, op.Copies) })
}
