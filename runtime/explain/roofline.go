package explain

import "ptc/runtime/program"

// Roofline is what a step takes at least, on the device that the plan was compiled for: of each
// launch the longer of moving its bytes and of its arithmetic, one launch after the other
// (Williams, Waterman and Patterson, "Roofline", 2009). What is exchanged with other devices
// is not in it.
type Roofline struct {
	Device    string  `json:"device"`
	Bandwidth float64 `json:"bytes_per_s"`
	Flops     float64 `json:"flops_per_s"` // the highest rate that arithmetic of the step is counted at
	StepMs    float64 `json:"step_ms"`
	MovesMs   float64 `json:"moves_ms"`      // all bytes
	MathMs    float64 `json:"arithmetic_ms"` // all arithmetic
}

// rooflineOf is nil where the plan does not say what its device does at most. It sets what a
// launch of each kernel takes at least.
func rooflineOf(p *program.Plan, kernels []Kernel) *Roofline {
	r := p.Roof
	if r == nil {
		return nil
	}
	out := &Roofline{Device: r.Device, Bandwidth: r.Bytes}
	for i := range kernels {
		k := &kernels[i]
		rate := r.Rates[0].Flops
		for _, x := range r.Rates {
			if x.DType == p.Kernels[i].Factors {
				rate = x.Flops
			}
		}
		moves, math := 1e3*float64(k.Bytes)/r.Bytes, 1e3*float64(k.Flops)/rate
		k.LeastMs = max(moves, math)
		n := float64(k.Launches)
		out.StepMs += n * k.LeastMs
		out.MovesMs += n * moves
		out.MathMs += n * math
		if k.Launches > 0 && k.Flops > 0 {
			out.Flops = max(out.Flops, rate)
		}
	}
	if out.Flops == 0 { // a step that only moves
		out.Flops = r.Rates[0].Flops
	}
	return out
}
