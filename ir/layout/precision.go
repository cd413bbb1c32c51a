package layout

import (
	"math"

	"ptc/internal/dtype"
	"ptc/ir"
)

// Precision is `precision { compute = bf16 }`, which has a term of its own:
// precision(compute=bf16, params=bf16, reduce=f32, scale=dynamic, products=f8, on="blocks.*").
type Precision struct {
	source
	Compute ir.DType // of the operands of contractions, and of what is stored for them
	Params  ir.DType // in which parameters are stored, gathered and sent
	Reduce  ir.DType // in which gradients are added up across devices
	Scale   Scale
	// Products is Float8 where operands of linear products are floats of eight bits with
	// a scale for each tensor; empty where they are of Compute.
	Products string
	// On are the modules of whose products this holds, patterns of paths or names; none:
	// all, but the first product and the last.
	On []string
}

// Float8 is the word for floats of eight bits: f8e4m3, and f8e5m2 for gradients.
const Float8 = "f8"

// Float32 is the precision of a layout that says nothing of it.
func Float32() Precision { return Precision{Compute: ir.F32, Params: ir.F32, Reduce: ir.F32} }

// Precisions are the dtypes that each setting may have.
var Precisions = map[string][]ir.DType{"compute": dtype.Compute(), "params": dtype.Compute(), "reduce": dtype.Reduce()}

// Set is the field of a setting, or nil.
func (p *Precision) Set(key string) *ir.DType {
	return map[string]*ir.DType{"compute": &p.Compute, "params": &p.Params, "reduce": &p.Reduce}[key]
}

func (p *Precision) fields() []field {
	out := []field{{key: "scale", at: &p.Scale}, {key: "products", at: (*word)(&p.Products), from: []string{Float8}}, {key: "on", at: (*paths)(&p.On)}}
	for _, k := range []string{"compute", "params", "reduce"} {
		f := field{key: k, at: p.Set(k)}
		for _, d := range Precisions[k] {
			f.from = append(f.from, d.String())
		}
		out = append(out, f)
	}
	return out
}

// PrecisionOf is the precision of m, or a diagnostic for one that cannot be
// followed. Where gradients are computed in f16 and nothing is said of a scale, it
// is dynamic.
func PrecisionOf(m *ir.Module) (Precision, error) {
	p := Float32()
	if t := m.MetaTerm("precision"); t != nil {
		r, err := decode(*t)
		if err != nil {
			return p, err
		}
		p = *r.(*Precision)
	}
	if p.Compute == ir.F16 && !p.Scale.On() {
		p.Scale.Dynamic = true
	}
	return p, nil
}

// Scale says by what the loss is multiplied; the zero Scale is by nothing.
type Scale struct {
	Dynamic bool
	Static  float64 // where it is not dynamic; 0 for none
}

// On says whether the loss is scaled.
func (s Scale) On() bool { return s.Dynamic || s.Static != 0 }

func (s Scale) String() string {
	switch {
	case s.Dynamic:
		return "dynamic"
	case s.Static != 0:
		return "by " + ir.Float(s.Static).String()
	}
	return "none"
}

// readScale reads `dynamic`, or a positive number.
func readScale(v ir.AttrVal) (Scale, bool) {
	s := Scale{}
	switch v := v.(type) {
	case ir.Name:
		s.Dynamic = v == "dynamic"
	case ir.Int:
		s.Static = float64(v)
	case ir.Float:
		s.Static = float64(v)
	}
	// Both the scale and its inverse are normal numbers of f32.
	return s, s.Dynamic || s.Static >= 0x1p-126 && s.Static <= 0x1p126
}

// writeScale is the scale's value, nil for none. A whole number has no point.
func writeScale(s Scale) ir.AttrVal {
	switch {
	case s.Dynamic:
		return ir.Name("dynamic")
	case s.Static == 0:
		return nil
	case s.Static <= 1<<53 && s.Static == math.Trunc(s.Static):
		return ir.Int(s.Static)
	}
	return ir.Float(s.Static)
}
