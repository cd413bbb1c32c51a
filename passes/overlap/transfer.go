package overlap

import (
	"ptc/ir"
	"ptc/ir/op"
)

// ahead is how many kernels a transfer may run beside: a fetch is started no
// more before its reader, and a store done no more behind its start. It bounds
// the device memory that transfers hold.
const ahead = 4

// transfers lets copies between memories run beside kernels, and returns how
// many do:
//
//	done  %fetch(k)
//	start fetch(k+1)
//	call  update(k)                 beside it: fetch(k+1), store(k-1)
//	done  %store(k-1)
//	start store(k)
//
// So of what is updated in pieces, three are in device memory at a time.
func transfers(f *ir.Func) int { return storeLate(f) + fetchEarly(f) }

// storeLate splits stores: each is done where the next ones start, where its
// result is read, or some kernels later.
func storeLate(f *ir.Func) int {
	type open struct {
		x       *ir.Op
		kernels int
	}
	var under []open
	var out, sunk []*ir.Op
	started, kernels := 0, 0
	with := map[*ir.Value]*ir.Value{}
	land := func(n int) { // the first n of those under way
		for _, s := range under[:n] {
			out = append(out, doneOf(f, s.x, with))
		}
		under = under[n:]
	}
	results := map[*ir.Value]bool{} // stored, or made of what is
	for _, x := range f.Ops {
		if op.Has(x, op.Joins) && results[x.Args[0]] {
			sunk = append(sunk, x) // it moves nothing, and waits for all its pieces
			results[x.Result()] = true
			continue
		}
		n := 0
		for k, s := range under {
			late := op.Has(x, op.Stores) && s.kernels < kernels || kernels-s.kernels >= ahead || reads(x, s.x)
			if late || len(under)-k >= MaxOpen/2 {
				n = k + 1
			}
		}
		land(n)
		out = append(out, x)
		switch {
		case op.Has(x, op.Calls):
			kernels++
		case op.Has(x, op.Stores):
			x.Start = true
			for _, r := range x.Results {
				results[r] = true
			}
			under = append(under, open{x, kernels})
			started++
		}
	}
	land(len(under))
	f.Replace(with) // before the dones, which alone read what is under way, are there
	f.Ops = append(out, sunk...)
	return started
}

// doneOf is the done of a started operation, whose results take the place of its
// own.
func doneOf(f *ir.Func, x *ir.Op, with map[*ir.Value]*ir.Value) *ir.Op {
	d := f.NewOp(op.Done, x.Results, nil, types(x)...)
	d.Scope, d.Pos, d.Task = x.Scope, x.Pos, x.Task
	for i, r := range x.Results {
		with[r] = d.Results[i]
	}
	return d
}

// fetchEarly splits fetches: all that one operation reads are started where
// those before them are done, but not too early.
func fetchEarly(f *ir.Func) int {
	first := readers(f.Ops)
	at, kernels := map[*ir.Op]int{}, make([]int, len(f.Ops)+1)
	for i, x := range f.Ops {
		at[x] = i
		kernels[i+1] = kernels[i]
		if op.Has(x, op.Calls) {
			kernels[i+1]++
		}
	}
	starts, dones := map[int][]*ir.Op{}, map[int][]*ir.Op{}
	moved, with := map[*ir.Op]bool{}, map[*ir.Value]*ir.Value{}
	var before, now int // readers of the fetches before, and of these
	open := 0
	for i, x := range f.Ops {
		if !op.Has(x, op.Loads) {
			continue
		}
		to := len(f.Ops)
		for _, r := range x.Results {
			to = min(to, first(r))
		}
		if to != now {
			before, now, open = now, to, 0
		}
		from := max(0, before)
		for kernels[to]-kernels[from] > ahead {
			from++
		}
		for _, a := range x.Args {
			if a.Def != nil {
				from = max(from, at[a.Def]+1)
			}
		}
		if from = min(from, i); kernels[to] == kernels[from] || open >= MaxOpen/4 {
			continue
		}
		open++
		moved[x] = true
		starts[from] = append(starts[from], x)
		dones[to] = append(dones[to], doneOf(f, x, with))
		x.Start = true
	}
	var out []*ir.Op
	for i := 0; i <= len(f.Ops); i++ {
		out = append(append(out, dones[i]...), starts[i]...)
		if i < len(f.Ops) && !moved[f.Ops[i]] {
			out = append(out, f.Ops[i])
		}
	}
	f.Replace(with)
	f.Ops = out
	return len(moved)
}

// elsewhere reports whether a function moves anything between memories.
func elsewhere(f *ir.Func) bool {
	for _, x := range f.Ops {
		if op.Has(x, op.Copies) {
			return true
		}
	}
	return false
}
