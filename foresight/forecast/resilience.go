package forecast

import (
	"math"

	"ptc/foresight/machine"
	"ptc/runtime/program"
)

// Resilience is how much of the time a run makes progress when devices fail. Formulas: Young, "A first order
// approximation to the optimum checkpoint interval" (1974); Daly, "A higher order estimate of the optimum checkpoint
// interval for restart dumps" (2006), equations 20 and 37.
type Resilience struct {
	Share      float64 `json:"share"`            // of the time, with checkpoints at Daly's interval
	MTBF       float64 `json:"mtbf_s"`           // of all devices
	Checkpoint float64 `json:"checkpoint_s"`     // that a checkpoint takes, while training waits
	Young      float64 `json:"young_interval_s"` // from one checkpoint to the next
	Daly       float64 `json:"daly_interval_s"`  //
	Restart    float64 `json:"restart_s"`        // assumed
	Bytes      int64   `json:"checkpoint_bytes"` // of all devices
}

// resilience is nil where the machine's file has no failures or no disk.
func resilience(p *program.Plan, c *machine.Cluster, restart float64) *Resilience {
	if !c.MTBF.Given() || !c.Host.Disk.Given() {
		return nil
	}
	r := &Resilience{MTBF: c.MTBF.Value / float64(p.Mesh.Ranks()), Restart: restart, Bytes: stateBytes(p)}
	hosts := math.Ceil(float64(p.Mesh.Ranks()) / float64(max(c.Host.Devices, 1)))
	r.Checkpoint = float64(r.Bytes) / float64(c.Host.Disk.Value*hosts)
	r.Young = math.Sqrt(2 * r.Checkpoint * r.MTBF)
	r.Daly = r.MTBF
	if x := r.Checkpoint / (2 * r.MTBF); x < 1 {
		r.Daly = r.Young*(1+math.Sqrt(x)/3+x/9) - r.Checkpoint
	}
	if r.Daly <= 0 { // a checkpoint costs nothing
		r.Share = 1
		return r
	}
	wall := r.MTBF * math.Exp(r.Restart/r.MTBF) * math.Expm1((r.Daly+r.Checkpoint)/r.MTBF)
	r.Share = math.Round(r.Daly/wall*1e6) / 1e6 // exponentials differ in their last bits from processor to processor
	return r
}

// stateBytes are the bytes of a checkpoint: each parameter and state once, however many devices hold it.
func stateBytes(p *program.Plan) int64 {
	seen, sum := map[string]bool{}, int64(0)
	for i := range p.Devices {
		d := &p.Devices[i]
		for _, t := range d.Tensors {
			if seen[t.Path] {
				continue
			}
			seen[t.Path] = true
			b := &d.Buffers[t.Buffer]
			n := int64(program.DTypeSize(b.DType)) * int64(max(d.Count(b.Stack), 1))
			for _, a := range b.Axes {
				n *= int64(a.Global)
			}
			sum += n
		}
	}
	return sum
}
