package op

import (
	"fmt"
	"math/rand"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/tensor"
)

// Messages between the stages of a pipeline: a device sends to, and receives
// from, the one that differs from it only in its coordinate on the mesh axis
// `over`. Messages of one tag between two devices arrive in the order in which
// they were sent.

// InFlight is how many messages of one tag between two devices can be sent and
// not yet received; a send waits for room among them.
const InFlight = 4

func init() {
	over := AttrSpec{"over", ir.Names(nil), true}
	peer := AttrSpec{"peer", ir.Int(0), true} // the other device's coordinate
	tag := AttrSpec{ir.AttrTag, ir.Int(0), true}
	each := AttrSpec{ir.AttrEach, ir.Int(0), false} // by how much the tag grows from one microbatch to the next
	why := AttrSpec{"why", ir.Str(""), false}
	Register(&Def{
		Name: collective.Send, Doc: "Sends the operand to the device with coordinate `peer` on mesh axis `over`.",
		Class: Collective, MinArgs: 1, MaxArgs: 1, Traits: Sends,
		Attrs: []AttrSpec{over, peer, tag, each, why},
		Infer: func(_ []ir.Type, attrs ir.Attrs) ([]ir.Type, error) { return nil, peerAxis(attrs) },
		Shard: replicated, State: asNoted, Flops: noFlops,
		Eval: func(c *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
			if c.Send == nil {
				return nil, fmt.Errorf("send where there is one device")
			}
			return nil, c.Send(o, args[0])
		},
		Sample: sampleCollective(ir.A("over", ir.Names{"d"}, "peer", ir.Int(1), "tag", ir.Int(0)), false, false),
	})
	Register(&Def{
		Name: collective.Recv, Doc: "The tensor that the device with coordinate `peer` on mesh axis `over` sends; `mesh` pairs axes with their sharding.",
		Class: Collective, Traits: Receives | Starts,
		Attrs: append([]AttrSpec{over, peer, tag, each, why}, typeAttrs...),
		Infer: inferRecv,
		Shard: replicated, State: asNoted, Flops: noFlops,
		Eval: func(c *Context, o *ir.Op, _ []*tensor.Tensor) ([]*tensor.Tensor, error) {
			if c.Recv == nil {
				return nil, fmt.Errorf("recv where there is one device")
			}
			t, err := c.Recv(o)
			if err != nil {
				return nil, err
			}
			return results(t)
		},
		Localize: func(o *ir.Op, _ []ir.Type) ir.Attrs { return o.Attrs }, // made with local sizes
		Sample: func(*rand.Rand) Example {
			return Example{Attrs: ir.A("over", ir.Names{"d"}, "peer", ir.Int(1), "tag", ir.Int(0),
				"dtype", ir.Name("f32"), "axes", ir.Sizes{{Name: "a", N: 2}})}
		},
	})
}

// peerAxis checks that a message goes along one mesh axis.
func peerAxis(attrs ir.Attrs) error {
	over, err := group(attrs)
	if err == nil && len(over) != 1 {
		err = &ShapeError{Msg: "a message goes along one mesh axis"}
	}
	if err == nil && (attrs.Int("peer", 0) < 0 || attrs.Int("tag", 0) < 0) {
		err = &ShapeError{Msg: "`peer` and `tag` count from 0"}
	}
	return err
}

func inferRecv(_ []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	if err := peerAxis(attrs); err != nil {
		return nil, err
	}
	return only(typeOf(attrs))
}

// typeAttrs are a type as attributes: of what no operand tells the type of.
var typeAttrs = []AttrSpec{{"dtype", ir.Name(""), true}, {"axes", ir.Sizes(nil), true}, {"mesh", ir.Pairs(nil), false}}

// typeOf is the type that attributes say, of f32 if they have no dtype.
func typeOf(attrs ir.Attrs) (t ir.Type, err error) {
	if t.DType, err = dtypeAttr(attrs, "dtype", ir.F32); err != nil {
		return t, err
	}
	for _, s := range attrs.Sizes("axes") {
		t.Axes = append(t.Axes, ir.Axis{Name: s.Name, Size: s.N})
	}
	for _, p := range attrs.Pairs("mesh") {
		i := t.Index(p.From)
		if i < 0 {
			return t, unknownAxis(p.From, t)
		}
		t.Axes[i].Mesh = append(t.Axes[i].Mesh, p.To)
	}
	return t, nil
}

// TypeAttrs are the attributes that say type t.
func TypeAttrs(t ir.Type) ir.Attrs {
	axes := ir.Sizes{}
	var mesh ir.Pairs
	for _, a := range t.Axes {
		axes = append(axes, ir.SizeOf{Name: a.Name, N: a.Size})
		for _, m := range a.Mesh {
			mesh = append(mesh, ir.Pair{From: a.Name, To: m})
		}
	}
	attrs := ir.A("dtype", ir.Name(t.DType.String()), "axes", axes)
	if len(mesh) > 0 {
		attrs = attrs.With("mesh", mesh)
	}
	return attrs
}

// RecvAttrs are the attributes of the recv of a value of type t.
func RecvAttrs(t ir.Type, over string, peer, tag int) ir.Attrs {
	return TypeAttrs(t).With("over", ir.Names{over}).With("peer", ir.Int(peer)).With(ir.AttrTag, ir.Int(tag))
}

// Posted reports whether o starts to receive a message: it need not be there before the
// `done`, and other messages may have to be sent first.
func Posted(o *ir.Op) bool { return o.Start && Has(o, Receives) }

// Awaited is what started to receive the message that o waits for, or nil.
func Awaited(o *ir.Op) *ir.Op {
	if Has(o, Completes) && len(o.Args) > 0 && o.Args[0].Def != nil && Posted(o.Args[0].Def) {
		return o.Args[0].Def
	}
	return nil
}
