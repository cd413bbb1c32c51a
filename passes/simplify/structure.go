package simplify

import (
	"strconv"

	"ptc/ir"
	"ptc/ir/op"
)

// structure is the text that equal operations share: name, operands and
// attributes. Random numbers carry their site in an attribute, so two
// different draws differ. What instances of a stack compute is another value than the
// same computed outside, and what is rematerialized is not kept. Operands that may be exchanged are in the order of their
// numbers, where both have the same axes, whose order the result's follows.
func (r *rewriter) structure(o *ir.Op) string {
	k := append(r.key[:0], o.Name...)
	if o.Run != nil { // the same instance's, in whichever of its runs
		k = append(append(k, '@'), o.Run.Stack.Name...)
	}
	if o.Remat {
		k = append(k, '!')
	}
	if len(o.Args) == 2 && op.Has(o, op.Commutes) && o.Args[0].ID > o.Args[1].ID &&
		o.Args[0].Type.SameShape(o.Args[1].Type) {
		k = appendID(appendID(k, o.Args[1]), o.Args[0])
	} else {
		for _, a := range o.Args {
			k = appendID(k, a)
		}
	}
	for _, a := range o.Attrs {
		k = append(k, ' ')
		k = append(k, a.Key...)
		k = append(k, '=')
		k = append(k, a.Val.String()...)
	}
	r.key = k
	return string(k)
}

func appendID(k []byte, v *ir.Value) []byte {
	return strconv.AppendInt(append(k, ' '), int64(v.ID), 10)
}
