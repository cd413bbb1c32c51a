package validate

import (
	"fmt"

	"ptc/ir"
	"ptc/ir/op"
)

// Result names a result: the function that it is of (of a pipeline, the one
// that its programs make up), its role and its path.
type Result struct{ Func, Role, Path string }

func (r Result) String() string {
	s := "@" + r.Func + " " + r.Role
	if r.Path != "" {
		s += " " + r.Path
	}
	return s
}

// Numbered is the number of every result of a module's entry functions, and
// their order.
type Numbered struct {
	Order []Result
	Of    map[Result]Number
}

// Module numbers the results of m's entry functions, which the verifier found
// sound. An error is two programs that make the same result, or messages that
// do not meet.
func (t *Table) Module(m *ir.Module) (*Numbered, error) {
	out := &Numbered{Of: map[Result]Number{}}
	groups := map[string][]*walker{}
	var names []string
	x := &exchange{m: m, sent: map[channel][]Number{}}
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		name := f.Of
		if name == "" {
			name = f.Name
		}
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], newWalker(t, f, x))
	}
	for _, name := range names {
		if err := together(name, groups[name]); err != nil {
			return nil, err
		}
		for _, w := range groups[name] {
			for i, r := range w.f.Results {
				k := Result{name, r.Role, r.Path}
				if r.Role == "" {
					k.Path = fmt.Sprint(i)
				}
				if _, twice := out.Of[k]; twice {
					return nil, fmt.Errorf("%s is a result of two programs", k)
				}
				out.Order = append(out.Order, k)
				out.Of[k] = w.at[r.Value]
			}
			for _, c := range w.carried {
				k := Result{name, "instances of a stack have", c.what}
				out.Order = append(out.Order, k)
				out.Of[k] = c.is
			}
		}
	}
	return out, nil
}

// together walks the programs of one function until all are at their end: each
// goes on until it has to wait for a message.
func together(name string, ws []*walker) error {
	for moved := true; moved; {
		moved = false
		for _, w := range ws {
			moved = w.walk() || moved
		}
	}
	for _, w := range ws {
		if w.bug != nil {
			return w.bug
		}
		if w.next < len(w.f.Ops) {
			return fmt.Errorf("@%s waits for a message that nobody sends", w.f.Name)
		}
	}
	return nil
}

// channel is what messages are told apart by.
type channel struct {
	of            string
	from, to, tag int64
}

// exchange is what the walkers of a module share: the module, and the messages
// on their way.
type exchange struct {
	m    *ir.Module
	sent map[channel][]Number
}

// walker numbers the values of one function.
type walker struct {
	t    *Table
	f    *ir.Func
	x    *exchange
	at   map[*ir.Value]Number
	next int
	// What goes from instance to instance of a stack has a number by its stack, its
	// direction and what it begins with. That, and what an instance makes of it, are
	// kept as results are: if those are equal, then by induction over the instances all
	// values are.
	carried []carried
	places  map[*ir.Value]string
	taken   map[string]bool
	bug     error
}

// carried is a number that a pass must keep, and what of.
type carried struct {
	what string
	is   Number
}

// tick numbers what goes from microbatch to microbatch: what the ticks add up to is
// one expression of what each adds, in whatever form it is written.
func (w *walker) tick(o *ir.Op) {
	switch by := o.Accumulates(); {
	case by != "":
		w.at[o.Result()] = w.t.accumulated(by, w.at[o.Args[0]])
	case o.Name == op.EnterTick:
		w.at[o.Result()] = w.t.entered()
	default:
		w.at[o.Result()] = w.at[o.Args[1]]
	}
}

// boundary numbers what enters an instance of a stack, and what leaves the last one.
func (w *walker) boundary(o *ir.Op) {
	if o.Name == op.Enter {
		run := o.Run
		place := fmt.Sprintf("%s, %d of them, down %v, from %d", run.Stack.Name, run.Stack.Count, run.Down, w.at[o.Args[0]])
		for w.taken[place] {
			place += "'"
		}
		w.places[o.Result()], w.taken[place] = place, true
		w.carried = append(w.carried, carried{place + " at first", w.at[o.Args[0]]})
		w.at[o.Result()] = w.t.number(node{op: o.Name, what: "enter " + place, typ: global(w.x.m, o.Result().Type)})
		return
	}
	place := w.places[o.Args[0]]
	w.carried = append(w.carried, carried{place + " then", w.at[o.Args[1]]})
	w.at[o.Result()] = w.t.number(node{op: o.Name, what: "leave " + place, typ: global(w.x.m, o.Result().Type)})
}

func newWalker(t *Table, f *ir.Func, x *exchange) *walker {
	w := &walker{t: t, f: f, x: x, at: make(map[*ir.Value]Number, len(f.Ops)),
		places: map[*ir.Value]string{}, taken: map[string]bool{}}
	for i, a := range f.Args {
		w.at[a.Value] = t.argument(x.m, a, i)
	}
	return w
}

// walk goes on until the end or a message that has not been sent, and reports
// whether it went on at all.
func (w *walker) walk() bool {
	from := w.next
	for ; w.next < len(w.f.Ops); w.next++ {
		o := w.f.Ops[w.next]
		switch {
		case op.Of(o).Class == op.Control:
			w.call(o)
		case o.Name == op.Enter || o.Name == op.Leave:
			w.boundary(o)
		case op.Of(o).Class == op.Boundary:
			w.tick(o)
		case op.Has(o, op.Sends):
			c := w.channel(o, true)
			w.x.sent[c] = append(w.x.sent[c], w.at[o.Args[0]])
		case op.Posted(o): // it is received where it is waited for
		case op.Has(o, op.Receives):
			if !w.receive(o) {
				return w.next > from
			}
		default:
			if x := op.Awaited(o); x != nil && !w.receive(x) {
				return w.next > from
			}
			w.operation(o)
		}
	}
	return w.next > from
}

// receive numbers what o receives, and reports whether it was sent.
func (w *walker) receive(o *ir.Op) bool {
	c := w.channel(o, false)
	if len(w.x.sent[c]) == 0 {
		return false
	}
	w.at[o.Result()] = w.x.sent[c][0]
	w.x.sent[c] = w.x.sent[c][1:]
	return true
}

func (w *walker) channel(o *ir.Op, sends bool) channel {
	me, peer := int64(w.f.Stage.Or(0)), o.Attrs.Int("peer", 0)
	c := channel{w.f.Of, peer, me, o.Attrs.Int("tag", 0)}
	if sends {
		c.from, c.to = me, peer
	}
	return c
}

func (w *walker) operation(o *ir.Op) {
	args := make([]Number, len(o.Args))
	for i, a := range o.Args {
		args[i] = w.at[a]
	}
	for i, r := range o.Results {
		w.at[r] = w.t.result(w.x.m, o, i, args)
	}
}

// call numbers the body of the function called, for these operands. In the first tick
// of a task it is another function, which makes what is added to in the later ones.
func (w *walker) call(o *ir.Op) {
	var args, given []Number
	for _, v := range o.Args {
		if args = append(args, w.at[v]); w.at[v] != w.t.entered() {
			given = append(given, w.at[v])
		}
	}
	for i, n := range w.body(o.Callee, args) {
		w.at[o.Results[i]] = n
	}
	if o.First == nil {
		return
	}
	for i, n := range w.body(o.First, given) {
		sum := w.at[o.Results[i]]
		if x := w.t.nodes[sum]; sum != n && (x.op != op.Accumulate || x.args[0] != n) {
			w.bug = fmt.Errorf("@%s: @%s computes otherwise than @%s, whose first tick it is", w.f.Name, o.First.Name, o.Callee.Name)
		}
	}
}

// body are the numbers of the results of f.
func (w *walker) body(f *ir.Func, args []Number) (out []Number) {
	in := &walker{t: w.t, f: f, x: w.x, at: make(map[*ir.Value]Number, len(f.Ops))}
	for i, a := range f.Args {
		in.at[a.Value] = args[i]
	}
	in.walk()
	for _, r := range f.Results {
		out = append(out, in.at[r.Value])
	}
	return out
}
