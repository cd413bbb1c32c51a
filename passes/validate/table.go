package validate

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"ptc/ir"
	"ptc/ir/op"
)

// Number stands for an expression; equal expressions of one [Table] have the
// same. Numbers of two tables have nothing to do with each other.
type Number int

// Table holds the expressions of all modules that it has seen.
type Table struct {
	of    map[string]Number
	nodes []node
	texts map[string]text // of nodes: those of all layers and devices are few
	key   []byte          // of the last node, or text, that was looked for
	// enters is one more than the number of [Table.entered], once it is asked for.
	enters Number
}

// text is what nodes say, and its number from 1 on.
type text struct {
	text   string
	number int
}

// node is an expression: what is done to which others. what is its operation,
// constants and type; for an argument of a function, its role and path. over
// are the axes of a reduction or contraction; inverse, where there is one, is the operation
// that gives back the operand; attrs and index are what, with the type, what
// says; piece is the range of a piece.
type node struct {
	op, what, inverse string
	says              int // the number of what; 0: not asked for
	attrs             string
	index             int // of the result
	typ               ir.Type
	over              ir.Names
	args              []Number
	piece             piece
}

// say has an operation's node say what it is.
func (t *Table) say(n *node) {
	key := append(append(t.key[:0], n.op...), n.attrs...)
	key = strconv.AppendInt(append(key, " #"...), int64(n.index), 10)
	t.key = n.typ.Append(append(key, ' '))
	x := t.text(t.key)
	n.what, n.says = x.text, x.number
}

// text is a text that is kept once.
func (t *Table) text(b []byte) text {
	x, ok := t.texts[string(b)]
	if !ok {
		x = text{string(b), len(t.texts) + 1}
		t.texts[x.text] = x
	}
	return x
}

// New is an empty table.
func New() *Table { return &Table{of: map[string]Number{}, texts: map[string]text{}} }

func (t *Table) number(n node) Number {
	if n.says == 0 {
		x := t.text([]byte(n.what))
		n.what, n.says = x.text, x.number
	}
	key := binary.AppendUvarint(t.key[:0], uint64(n.says))
	for _, a := range n.args {
		key = binary.AppendUvarint(key, uint64(a))
	}
	t.key = key
	k, ok := t.of[string(key)]
	if !ok {
		k = Number(len(t.nodes))
		t.of[string(key)] = k
		t.nodes = append(t.nodes, n)
	}
	return k
}

func (t *Table) argument(m *ir.Module, a *ir.Arg, i int) Number {
	what := fmt.Sprintf("argument %s %q %s", a.Role, a.Path, global(m, a.Value.Type))
	if a.Role == "" {
		what = fmt.Sprintf("argument %d %s", i, global(m, a.Value.Type))
	}
	return t.number(node{op: "argument", what: what, typ: global(m, a.Value.Type)})
}

// entered is what a tick has of the one before, and accumulated what all ticks add up
// to, each of which adds x.
func (t *Table) entered() Number {
	if t.enters == 0 {
		t.enters = 1 + t.number(node{op: op.EnterTick, what: op.EnterTick})
	}
	return t.enters - 1
}

func (t *Table) accumulated(by string, x Number) Number {
	return t.number(node{op: op.Accumulate, what: op.Accumulate + " by " + by, args: []Number{x}, typ: t.nodes[x].typ})
}

// result is the number of result i of o, whose operands have these.
func (t *Table) result(m *ir.Module, o *ir.Op, i int, args []Number) Number {
	d := op.Of(o)
	if o.Name == op.Add || o.Name == op.Max {
		for k := range args {
			if args[k] == t.entered() {
				return t.accumulated(o.Name, args[1-k])
			}
		}
	}
	switch {
	case op.Has(o, op.SameValue), op.Reorders(o):
		return args[i]
	case op.PartialOfFirst(o) != nil:
		return args[1] // the sum over the group is what one device has
	case op.IsCopy(o):
		return args[0]
	}
	if axis, sources := op.Taken(o); axis != "" {
		return t.taken(global(m, o.Result().Type), axis, sources, args[0])
	}
	if _, _, _, ok := op.Piece(o); ok {
		return t.piece(m, o, i, args)
	}
	if op.Has(o, op.Loads) {
		return args[i]
	}
	types := make([]ir.Type, len(o.Results))
	for j, r := range o.Results {
		types[j] = global(m, r.Type)
	}
	if op.Has(o, op.Joins) {
		if n := t.joined(o.Attrs.Text("axis"), args, types[0].Size(o.Attrs.Text("axis")), map[string]Number{}); n >= 0 {
			return n
		}
	}
	attrs := op.Localize(o, types)
	n := node{op: o.Name, args: args, index: i, typ: types[i]}
	if d.Class == op.Reduction {
		// Over nothing it is its operand; in two rounds it is one of both.
		if n.over = sorted(attrs.Names("over")); len(n.over) == 0 {
			return args[0]
		}
		if in := t.nodes[args[0]]; in.op == o.Name {
			n.over, n.args = sorted(append(n.over, in.over...)), in.args
		}
		if o.Name == op.ReduceSum && len(n.over) == 1 && len(n.args) == 1 {
			if whole := t.unparted(n.args[0], n.over[0]); whole >= 0 {
				return whole
			}
		}
		attrs = attrs.With("over", n.over)
	}
	if d.Class == op.Contraction {
		return t.contraction(n, attrs)
	}
	if len(args) == 1 && t.nodes[args[0]].inverse != "" && t.nodes[args[0]].inverse == o.Name+attrs.String() {
		return t.nodes[args[0]].args[0]
	}
	if d.Inverse != nil {
		name, attrs := d.Inverse(o)
		n.inverse = name + attrs.String()
	}
	n.attrs = attrs.String()
	t.say(&n)
	return t.number(n)
}

// taken is the number of a take of x, of the type: that of the slices, one after
// the other, that it is where its axis is not sharded.
func (t *Table) taken(of ir.Type, axis string, sources []int64, x Number) Number {
	var parts []Number
	for _, attrs := range op.Runs(axis, sources) {
		part := of.Clone()
		part.Axes[part.Index(axis)].Size = int(attrs.Int("limit", 0) - attrs.Int("start", 0))
		parts = append(parts, t.number(node{op: op.Slice, what: fmt.Sprintf("%s%s #0 %s", op.Slice, attrs, part), typ: part, args: []Number{x}}))
	}
	return t.number(node{op: op.Concat, what: fmt.Sprintf("%s%s #0 %s", op.Concat, ir.A("axis", ir.Name(axis)), of), typ: of, args: parts})
}

func sorted(names []string) ir.Names {
	out := slices.Clone(names)
	slices.Sort(out)
	return out
}

// global is the type of the tensor of which t is a shard.
func global(m *ir.Module, t ir.Type) ir.Type {
	t.Partial, t.Pad = nil, 0
	if !slices.ContainsFunc(t.Axes, func(a ir.Axis) bool { return len(a.Mesh) > 0 }) {
		return t
	}
	t.Axes = slices.Clone(t.Axes)
	for i := range t.Axes {
		if m.Level >= ir.Local {
			for _, x := range t.Axes[i].Mesh {
				t.Axes[i].Size *= m.MeshSize(x)
			}
		}
		t.Axes[i].Mesh = nil
	}
	return t
}
