package validate

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// Pieces are what [op.Piece] says: a range of an axis, of each device's part
// where that is cut. Elementwise operations do to a piece what they do to the
// whole, so a value that pieces of one computation make up is that computation
// on the wholes, if the pieces are all of them.

// piece is the number of a piece of args[i].
func (t *Table) piece(m *ir.Module, o *ir.Op, i int, args []Number) Number {
	axis, from, limit, _ := op.Piece(o)
	r := o.Results[i].Type
	over := 1 // how many devices' parts the axis has
	for _, x := range r.Axes[r.Index(axis)].Mesh {
		over *= m.MeshSize(x)
	}
	n := node{op: "piece", args: args[i : i+1], typ: global(m, r),
		piece: piece{axis, int(from) * over, int(limit) * over}}
	n.what = "piece" + ir.A("axis", ir.Name(axis), "from", ir.Int(from), "limit", ir.Int(limit), "over", ir.Int(over)).String() + " " + n.typ.String()
	return t.number(n)
}

// piece is the range of the axis of the whole mesh's value that a node is:
// of each of its parts alike.
type piece struct {
	axis        string
	from, limit int
}

// joined is the number of what pieces along axis make up, of which the whole has
// size elements; -1 where they are no computation done piece by piece.
func (t *Table) joined(axis string, pieces []Number, size int, seen map[string]Number) Number {
	key := fmt.Sprint(pieces)
	n, ok := seen[key]
	if !ok {
		n = t.join(axis, pieces, size, seen)
		seen[key] = n
	}
	return n
}

func (t *Table) join(axis string, pieces []Number, size int, seen map[string]Number) Number {
	first := t.nodes[pieces[0]]
	if first.op == "piece" && first.piece.axis == axis {
		at := 0
		for _, p := range pieces {
			n := t.nodes[p]
			if n.op != "piece" || n.piece.axis != axis || n.piece.from != at || n.args[0] != first.args[0] {
				return -1
			}
			at = n.piece.limit
		}
		if of := t.nodes[first.args[0]].typ; of.Size(axis) != at {
			return -1
		}
		return first.args[0]
	}
	if !first.typ.Has(axis) {
		if slices.ContainsFunc(pieces, func(p Number) bool { return p != pieces[0] }) {
			return -1
		}
		return pieces[0] // the same for every piece
	}
	if d := op.Lookup(first.op); d == nil || d.Class != op.Elementwise {
		return -1
	}
	for _, p := range pieces {
		if n := t.nodes[p]; n.op != first.op || n.attrs != first.attrs || n.index != first.index || len(n.args) != len(first.args) {
			return -1
		}
	}
	n := node{op: first.op, attrs: first.attrs, index: first.index, typ: resized(first.typ, axis, size)}
	for i := range first.args {
		operands := make([]Number, len(pieces))
		for k, p := range pieces {
			operands[k] = t.nodes[p].args[i]
		}
		j := t.joined(axis, operands, size, seen)
		if j < 0 {
			return -1
		}
		n.args = append(n.args, j)
	}
	t.say(&n)
	return t.number(n)
}

func resized(t ir.Type, axis string, size int) ir.Type {
	t = t.Clone()
	t.Axes[t.Index(axis)].Size = size
	return t
}
