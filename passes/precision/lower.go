package precision

import (
	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// lowering rewrites one function. Every float value has a home, in which it is
// stored, and casts of it that were asked for so far.
type lowering struct {
	f       *ir.Func
	p       *plan
	compute ir.DType
	b       op.Builder
	out     []*ir.Op
	home    map[*ir.Value]*ir.Value // old value to the stored one
	casts   map[castKey]*ir.Value
}

type castKey struct {
	v *ir.Value // old
	d ir.DType
}

func lower(c *pass.Context, f *ir.Func, compute ir.DType) {
	l := &lowering{f: f, p: classify(f), compute: compute,
		home: map[*ir.Value]*ir.Value{}, casts: map[castKey]*ir.Value{}}
	l.b = op.Builder{F: f, Sink: &l.out}
	low, wide, kept := 0, 0, 0
	for _, o := range f.Ops {
		l.b.Scope, l.b.Pos = o.Scope, o.Pos
		switch class := op.Of(o).Class; {
		case l.p.inside[o] && class == op.Contraction:
			if l.contraction(o) {
				wide++
			}
			low++
		case l.p.inside[o] && class == op.Movement && l.inCompute(o):
			l.emit(o, o.Attrs, compute)
		default:
			l.emit(o, o.Attrs, ir.F32)
			for _, v := range o.Results {
				if l.p.stored[v] {
					kept++
					l.home[v] = l.b.Cast(l.home[v], compute)
				}
			}
		}
	}
	for i := range f.Results {
		v := f.Results[i].Value
		l.b.Scope, l.b.Pos = scopeOf(v)
		f.Results[i].Value = l.at(v, v.Type.DType)
	}
	f.Ops = l.out
	c.Remarkf(nil, "@%s: %d contractions in %s, %d of them with a result in f32; %d values stored in %s",
		f.Name, low, compute, wide, kept, compute)
}

// contraction reads the compute dtype; it reports whether the result leaves in
// float32.
func (l *lowering) contraction(o *ir.Op) bool {
	if l.p.wide[o.Result()] {
		l.emit(o, o.Attrs.With("to", ir.Name(ir.F32.String())), l.compute)
		return true
	}
	l.emit(o, o.Attrs, l.compute)
	return false
}

// inCompute reports whether every float operand is stored in the compute dtype.
func (l *lowering) inCompute(o *ir.Op) bool {
	for _, a := range o.Args {
		if a.Type.DType.IsFloat() && l.stays(a).Type.DType != l.compute {
			return false
		}
	}
	return true
}

// emit repeats o over float operands of dtype d. Its attributes may make the
// result another dtype, as those of cast do.
func (l *lowering) emit(o *ir.Op, attrs ir.Attrs, d ir.DType) {
	args := make([]*ir.Value, len(o.Args))
	for i, a := range o.Args {
		args[i] = l.at(a, d)
	}
	res, err := l.b.TryEmit(o.Name, args, attrs)
	if err != nil {
		panic("precision: " + o.Name + ": " + err.Error())
	}
	for i, v := range o.Results {
		l.home[v] = res[i]
	}
}

// stays is where the old value v is stored.
func (l *lowering) stays(v *ir.Value) *ir.Value {
	if h := l.home[v]; h != nil {
		return h
	}
	return v // an argument
}

// at is the old value v in dtype d, if it is a float. A cast is emitted where
// it is first needed, and shared.
func (l *lowering) at(v *ir.Value, d ir.DType) *ir.Value {
	h := l.stays(v)
	if !h.Type.DType.IsFloat() || h.Type.DType == d {
		return h
	}
	k := castKey{v, d}
	if l.casts[k] == nil {
		l.casts[k] = l.b.Cast(h, d)
	}
	return l.casts[k]
}
