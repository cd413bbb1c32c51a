package assemble

import (
	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/runtime/program"
)

// Messages are proved to meet with so much room, so a runtime must have it.
const _ uint = program.InFlight - op.InFlight

// comm is collective o as the runtime issues it.
func (d *device) comm(o *ir.Op) *program.Comm {
	if op.Has(o, op.Message) {
		return d.message(o)
	}
	if op.Has(o, op.Copies) {
		c := &program.Comm{Kind: o.Name, Why: why(o), Start: o.Start}
		for _, v := range o.Results {
			c.Bytes += int64(v.Type.Bytes())
		}
		return c
	}
	c := &program.Comm{
		Kind: o.Name, Over: o.Attrs.Names("over"), Reduce: o.Attrs.Text("reduce"),
		DType: o.Args[0].Type.DType.String(), Why: why(o), Start: o.Start,
	}
	parts := 1
	for _, m := range c.Over {
		parts *= d.module.MeshSize(m)
	}
	for i := range o.Args {
		v, bytes := d.view(o, i, parts)
		c.Bytes += bytes
		if i == 0 {
			c.Outer, c.Inner = v.Outer, v.Inner
		} else {
			c.Rest = append(c.Rest, v)
		}
	}
	switch {
	case op.Has(o, op.Gathers) && op.Has(o, op.Scatters):
		c.DstOuter, c.DstInner = view(o.Result().Type, o.Attrs.Text("axis"), parts)
	case o.Name == collective.Permute:
		sources, err := op.Sources(o, d.module.MeshSize)
		if err != nil {
			panic("assemble: " + err.Error()) // the verifier has looked
		}
		for _, s := range sources {
			c.From = append(c.From, int(s))
		}
	}
	return c
}

// view is how operand i of a collective is cut, and the payload of it in bytes.
func (d *device) view(o *ir.Op, i, parts int) (program.View, int64) {
	in, out, axis := o.Args[i].Type, o.Results[i].Type, op.CollectiveAxis(o, i)
	v := program.View{Outer: 1, Inner: int64(in.Elems())}
	switch gathers, scatters := op.Has(o, op.Gathers), op.Has(o, op.Scatters); {
	case gathers && scatters:
		v.Outer, v.Inner = view(in, o.Attrs.Text("to"), parts)
	case gathers:
		v.Outer, v.Inner = view(out, axis, parts)
	case scatters:
		v.Outer, v.Inner = view(in, axis, parts)
	}
	return v, collective.Payload(o.Name, int64(in.Bytes()), int64(parts))
}

// why is the rule that asked for o, and where in the source the value is.
func why(o *ir.Op) string {
	w := o.Attrs.Text("why")
	if o.Pos.IsValid() {
		w += " (" + o.Pos.String() + ")"
	}
	return w
}

// view is t, cut along axis into parts, as [outer, parts, inner].
func view(t ir.Type, axis string, parts int) (outer, inner int64) {
	outer, inner = 1, 1
	seen := false
	for _, a := range t.Axes {
		switch {
		case a.Name == axis:
			seen = true
			inner *= int64(a.Size / parts)
		case seen:
			inner *= int64(a.Size)
		default:
			outer *= int64(a.Size)
		}
	}
	return outer, inner
}

// message is a send or a receive. Its peer is a coordinate on one mesh axis:
// as the program is that of several devices, it stays one.
func (d *device) message(o *ir.Op) *program.Comm {
	var t ir.Type
	if op.Has(o, op.Sends) {
		t = o.Args[0].Type
	} else {
		t = o.Result().Type
	}
	return &program.Comm{
		Kind: o.Name, Over: o.Attrs.Names("over"), DType: t.DType.String(), Outer: 1, Inner: int64(t.Elems()),
		Peer: int(o.Attrs.Int("peer", 0)), Tag: int(o.Attrs.Int(ir.AttrTag, 0)), Each: int(o.Attrs.Int(ir.AttrEach, 0)), Bytes: int64(t.Bytes()), Why: why(o),
		Start: o.Start,
	}
}
