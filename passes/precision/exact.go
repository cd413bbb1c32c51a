package precision

import (
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
)

// widen makes every float of f an f64: arguments, the dtypes that attributes
// name, and results. Data stay f32, as they come, and are cast.
func widen(f *ir.Func) {
	ops := f.Ops
	f.Ops = make([]*ir.Op, 0, len(ops))
	repl := map[*ir.Value]*ir.Value{}
	data := map[*ir.Op]*ir.Value{}
	for _, a := range f.Args {
		switch {
		case !a.Value.Type.DType.IsFloat():
		case a.Role == ir.RoleData:
			b := op.Builder{F: f, Pos: a.Pos}
			repl[a.Value] = b.Cast(a.Value, ir.F64)
			data[repl[a.Value].Def] = a.Value
		default:
			a.Value.Type = a.Value.Type.WithDType(ir.F64)
		}
	}
	for _, o := range ops {
		b := op.Builder{F: f, Scope: o.Scope, Pos: o.Pos, Slot: o.Slot}
		args := make([]*ir.Value, len(o.Args))
		for i, a := range o.Args {
			args[i] = a
			if r := repl[a]; r != nil {
				args[i] = r
			}
		}
		res, err := b.TryEmit(o.Name, args, wideAttrs(o))
		if err != nil {
			panic("precision: " + o.Name + ": " + err.Error())
		}
		for i, v := range res {
			if v.Type.DType.IsFloat() {
				v = b.Cast(v, ir.F64) // random numbers are f32 by definition
			}
			repl[o.Results[i]] = v
		}
	}
	f.Replace(repl)
	for o, v := range data { // which Replace has made read themselves
		o.Args[0] = v
	}
}

// wideAttrs is o's attributes with f64 for each float dtype that they name.
func wideAttrs(o *ir.Op) ir.Attrs {
	attrs := o.Attrs
	for _, s := range op.Of(o).Attrs {
		if s.Key != "to" && s.Key != "dtype" {
			continue
		}
		if d, ok := ir.ParseDType(attrs.Text(s.Key)); ok && d.IsFloat() {
			attrs = attrs.With(s.Key, ir.Name(ir.F64.String()))
		}
	}
	return attrs
}

// scopeOf is where v comes from, for an operation that only follows it: of what leaves a
// run, from the last of its instances.
func scopeOf(v *ir.Value) (string, diag.Pos) {
	if v.Def == nil {
		return "", diag.Pos{}
	}
	scope := v.Def.Scope
	if v.Def.Name == ir.Leave {
		_, last := v.Def.Run.Way().Ends()
		scope = ir.OfInstance(scope, last)
	}
	return scope, v.Def.Pos
}
