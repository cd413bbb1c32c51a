package decode

import (
	"fmt"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
)

// Names of what the function has besides parameters and tokens.
const (
	// Position is the field that says which position comes: i32[].
	Position = "position"
	// Logits is the state that holds those of the position.
	Logits = "sample/logits"
	// Taken begins the names of states that count the tokens in slots.
	Taken = "taken"
)

// Derived is what Derive makes.
type Derived struct {
	Func    *ir.Func
	Batch   string // the first axis of tokens
	Axis    string // the second one, of positions
	Length  int    // how many positions there are
	Remarks []string

	caches []cache
	taken  []ir.Result     // states that count the tokens in slots
	fills  map[*ir.Op]bool // scatters of the tokens of the position into slots
	tokens *ir.Arg
	at     *ir.Value // the position
}

// cache is a value that is kept for all positions.
type cache struct {
	axis string    // of positions
	row  *ir.Value // what is computed at the position
	old  *ir.Arg   // the rows before
	now  *ir.Value // these and that of the position
}

// Counts reports whether states count the tokens in slots: then no position may be run
// twice, nor for padding.
func (d *Derived) Counts() bool { return len(d.taken) > 0 }

// deriver makes one function of another.
type deriver struct {
	from    *ir.Func
	to      *ir.Func
	b       op.Builder
	axis    string
	length  int
	at      *ir.Value // the position
	row     *ir.Arg   // the tokens of the position
	facts   map[*ir.Value]fact
	made    map[want]*ir.Value
	caches  map[*ir.Value]*ir.Value // of values that are wanted as a whole
	args    map[*ir.Value]*ir.Value
	kept    []cache // those, in order
	states  []*ir.Arg
	ends    []ir.Result
	names   map[string]int // caches in each scope
	slots   map[slotWant]*ir.Value
	guards  []*ir.Value // of slots: whether each is of one token
	taken   []ir.Result
	fills   map[*ir.Op]bool
	ahead   *prover
	remarks []string
}

// failure ends a derivation.
type failure struct{ err *diag.Error }

// fail ends the derivation at an operation.
func fail(code string, o *ir.Op, format string, args ...any) {
	e := &diag.Error{Code: code, Msg: fmt.Sprintf(format, args...)}
	if o != nil {
		e.Pos = o.Pos
	}
	panic(failure{e})
}

// Derive makes the function that samples of f. The error is a *diag.Error that names
// the operation by which positions depend on each other in a way that one position at a
// time cannot follow.
func Derive(f *ir.Func) (d *Derived, err error) {
	defer func() {
		if p := recover(); p != nil {
			x, ok := p.(failure)
			if !ok {
				panic(p)
			}
			d, err = nil, x.err
		}
	}()
	tokens := dataOf(f)
	if tokens == nil || len(f.Results) != 1 {
		return nil, fmt.Errorf("decode: @%s does not take tokens and give logits", f.Name)
	}
	x := tokens.Value.Type.Axes
	w := &deriver{
		from: f, to: &ir.Func{Name: f.Name, Class: ir.Entry}, axis: x[1].Name, length: x[1].Size,
		facts: factsOf(f, tokens.Value), made: map[want]*ir.Value{}, caches: map[*ir.Value]*ir.Value{}, args: map[*ir.Value]*ir.Value{}, names: map[string]int{}, slots: map[slotWant]*ir.Value{}, fills: map[*ir.Op]bool{},
	}
	w.b.F = w.to
	w.ahead = newProver(w)
	w.derive(tokens)
	return &Derived{
		Func: w.to, Batch: x[0].Name, Axis: w.axis, Length: w.length, Remarks: w.remarks,
		caches: w.kept, taken: w.taken, fills: w.fills, tokens: w.row, at: w.at,
	}, nil
}

// dataOf is the tokens of f, nil where it has other data.
func dataOf(f *ir.Func) (tokens *ir.Arg) {
	for _, a := range f.Args {
		if a.Role != ir.RoleData {
			continue
		}
		if tokens != nil || a.Value.Type.Rank() != 2 || a.Value.Type.DType != ir.I32 {
			return nil
		}
		tokens = a
	}
	return tokens
}

// derive builds the function: parameters, states, tokens and the position.
func (w *deriver) derive(tokens *ir.Arg) {
	var params []*ir.Arg
	for _, a := range w.from.Args {
		if a.Role == ir.RoleData {
			continue
		}
		c := *a
		c.Value = w.to.NewValue(a.Value.Type.Clone(), nil)
		w.args[a.Value] = c.Value
		params = append(params, &c)
	}
	row := *tokens
	row.Value = w.to.NewValue(tokens.Value.Type.Drop(w.axis), nil)
	w.args[tokens.Value], w.row = row.Value, &row
	w.at = w.to.NewValue(ir.Scalar(ir.I32), nil)
	logits := w.from.Results[0].Value
	v := w.get(logits, rows{w.axis: digit{1, w.length}})
	w.clean(v, logits.Def)
	v = w.guarded(v)
	old := &ir.Arg{Value: w.to.NewValue(v.Type.Clone(), nil), Role: ir.RoleState, Path: Logits, Attrs: zeros()}
	w.states, w.ends = append(w.states, old), append(w.ends, ir.Result{Value: v, Role: ir.RoleState, Path: Logits})
	w.to.Args = append(append(params, w.states...), &row, &ir.Arg{Value: w.at, Role: ir.RoleData, Path: Position, Pos: tokens.Pos})
	w.to.Results = w.ends
	w.to.DropDead(func(*ir.Op) bool { return false })
	w.to.Renumber()
	w.remark("%d caches hold %d positions along `%s`", len(w.caches), w.length, w.axis)
}

func (w *deriver) remark(format string, args ...any) {
	w.remarks = append(w.remarks, fmt.Sprintf(format, args...))
}

func zeros() ir.Attrs { return ir.A("init", ir.Term{Head: "zeros"}) }

// cached is a value of which all positions along axis are asked for: those up to this
// one, and behind it what does not count.
//
//	cache  [kseq, …]   rows 0 … t−1 of the runs before, row t of this one
func (w *deriver) cached(v *ir.Value, axis string) *ir.Value {
	if c := w.caches[v]; c != nil {
		return c
	}
	row := w.get(v, rows{axis: digit{1, w.length}})
	w.clean(row, v.Def)
	w.place(v.Def)
	path := w.path(v, axis)
	old := &ir.Arg{Value: w.to.NewValue(v.Type.Clone(), nil), Role: ir.RoleState, Path: path, Attrs: zeros(), Pos: w.b.Pos}
	here := w.b.Emit(op.Eq, nil, w.index(axis, w.length), w.at)
	now := w.b.Emit(op.Select, nil, here, row, old.Value)
	now = w.b.Reorder(now, v.Type)
	w.states, w.ends = append(w.states, old), append(w.ends, ir.Result{Value: now, Role: ir.RoleState, Path: path})
	w.caches[v], w.kept = now, append(w.kept, cache{axis, row, old, now})
	w.ahead.begin(now, axis)
	return now
}

// path is where a cache is: in the module that the value is of.
func (w *deriver) path(v *ir.Value, axis string) string {
	scope := "loss"
	if v.Def != nil && v.Def.Scope != "" {
		scope = v.Def.Scope
	}
	p := scope + "/" + axis
	n := w.names[p]
	w.names[p]++
	return fmt.Sprintf("%s%d", p, n)
}

// place has what is emitted next stand where o does.
func (w *deriver) place(o *ir.Op) {
	if o != nil {
		w.b.Scope, w.b.Pos = o.Scope, o.Pos
	}
}

func (w *deriver) index(axis string, size int) *ir.Value {
	v := w.b.Emit(op.Index, ir.A("axis", ir.Name(axis), "size", ir.Int(size)))
	w.ahead.follow(v.Def)
	return v
}

// emit is the operation o of other operands and attributes, with the result's axes in
// the order that names has.
func (w *deriver) emit(o *ir.Op, attrs ir.Attrs, names []string, args ...*ir.Value) *ir.Value {
	w.place(o)
	r, err := w.b.TryEmit(o.Name, args, attrs)
	if err != nil || len(r) != 1 {
		fail("E0722", o, "`%s` cannot be computed for one position: %v", wordOf(o), err)
	}
	w.ahead.follow(r[0].Def)
	if got := r[0].Type.Names(); strings.Join(got, " ") != strings.Join(names, " ") && len(got) == len(names) {
		t := w.b.Emit(op.Transpose, ir.A("order", ir.Names(names)), r[0])
		w.ahead.follow(t.Def)
		return t
	}
	return r[0]
}

// wordOf is the operation as the language writes it.
func wordOf(o *ir.Op) string {
	if word := op.Of(o).Word; word != "" {
		return word
	}
	return o.Name
}
