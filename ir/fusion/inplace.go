package fusion

import (
	"ptc/ir"
	"ptc/ir/op"
)

// InPlace reports whether result r may be written over argument a: same type,
// the argument read only at the element being written, and no later sweep
// reads it again. A contraction or a reduction to columns writes each element
// once, when its sum is complete: it may be written over what is added to that. A scatter
// may be over what its updates are added to.
func (k *Kernel) InPlace(a, r int) bool {
	if k.Class == Horizontal {
		return k.horizontalInPlace(a, r)
	}
	arg, res := k.F.Args[a].Value, k.F.Results[r].Value
	if res == arg || !sameStorage(arg.Type, res.Type) || !k.readAsStored(a) {
		return false
	}
	switch k.Class {
	case Map:
		return SameSpace(arg.Type.Axes, k.Space)
	case Row:
		return SameSpace(arg.Type.Axes, k.Space) && k.lastRead(a) <= k.Phase[res.Def]
	case Gemm, Column:
		return k.readBehind(a)
	case Scatter: // a task has what it adds to before it adds
		return k.Addend() == arg && k.readBehind(a)
	}
	return false
}

// readBehind reports whether argument a is read behind the contraction or reduction
// alone.
func (k *Kernel) readBehind(a int) bool {
	for _, o := range k.F.Ops {
		for _, v := range o.Args {
			if v == k.F.Args[a].Value && k.Part[o] != PartEpilogue {
				return false
			}
		}
	}
	return true
}

// sameStorage reports whether both types lie in memory alike.
func sameStorage(t, u ir.Type) bool {
	return t.DType == u.DType && t.Pad == u.Pad && t.SameAxes(u)
}

// readAsStored reports whether every view of argument a that is read is the
// argument itself, by operations that read it element by element.
func (k *Kernel) readAsStored(a int) bool {
	arg := k.F.Args[a].Value
	for v, w := range k.Views {
		if w.Arg == a && v != arg {
			return false
		}
	}
	for _, o := range k.F.Ops {
		for i, v := range o.Args {
			if v == arg && i == 0 && o.Name == op.Gather {
				return false
			}
		}
	}
	return true
}

func (k *Kernel) lastRead(a int) int {
	last := 0
	for _, o := range k.F.Ops {
		for _, v := range o.Args {
			if v == k.F.Args[a].Value {
				last = max(last, k.Phase[o])
			}
		}
	}
	// A value computed early from the argument may be computed again in a
	// later sweep: take the last phase in which any value over the rows that
	// depends on the argument is needed.
	needs := map[*ir.Value]bool{k.F.Args[a].Value: true}
	for _, o := range k.F.Ops {
		for _, v := range o.Args {
			if needs[v] {
				last = max(last, k.Phase[o])
				if SameSpace(o.Result().Type.Axes, k.Space) {
					needs[o.Result()] = true
				}
			}
		}
	}
	return last
}
