package forecast

import (
	"cmp"
	"fmt"
	"slices"

	"ptc/foresight/machine"
	"ptc/foresight/stack"
	"ptc/internal/units"
	"ptc/runtime/explain"
	"ptc/runtime/program"
)

// Memory is what the largest device needs, against what it has.
type Memory struct {
	Bytes    int64    `json:"memory_bytes"`
	Capacity int64    `json:"capacity_bytes"` // without what no program can have
	Fits     bool     `json:"fits"`
	By       []Use    `json:"memory_by_kind"`   // by kind; kinds share bytes that they need at different times
	Advice   []string `json:"advice,omitempty"` // what would make it fit, where it does not
}

// Use is the memory of one kind.
type Use struct {
	Kind  string `json:"kind"`
	Bytes int64  `json:"bytes"`
}

func memoryOf(p *program.Plan, c *machine.Cluster, s *stack.Stack) Memory {
	all := explain.MemoryOf(p)
	m := Memory{Capacity: int64(c.Device.Memory.Value) - int64(c.Device.Reserve.Value), By: []Use{}}
	if c.Host.Shared {
		m.Capacity /= int64(max(1, min(p.Mesh.Ranks(), c.Host.Devices)))
	}
	if s != nil {
		m.Capacity -= int64(s.Bytes.Of(0))
	}
	m.Bytes = slices.Max(append([]int64{0}, all.Peak...))
	m.Fits = m.Bytes <= m.Capacity
	for kind, bytes := range all.Arena {
		if bytes > 0 {
			m.By = append(m.By, Use{string(kind), bytes})
		}
	}
	slices.SortFunc(m.By, func(a, b Use) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Kind, b.Kind))
	})
	if !m.Fits {
		m.Advice = advice(p, &m)
	}
	return m
}

// advice names, for each kind of memory that is larger than what is missing or than a tenth of it, the directive that makes
// it smaller, and by how much where that is known.
func advice(p *program.Plan, m *Memory) (out []string) {
	missing := m.Bytes - m.Capacity
	replicas := replicated(p)
	for _, u := range m.By {
		if u.Bytes < missing/10 {
			continue
		}
		rest := ""
		switch program.Space(u.Kind) {
		case program.Optimizer:
			if replicas > 1 {
				rest = fmt.Sprintf("`zero 1` over the axes of the batch leaves 1/%d of it on each device", replicas)
			} else {
				rest = "`offload optimizer` moves it to the host"
			}
		case program.Grads:
			rest = "`zero 2` over the axes of the batch shards them"
		case program.Params:
			rest = "`zero 3` over the axes of the batch, or `shard` over more devices, splits them"
		case program.Activations, program.Scratch:
			rest = "`recompute auto` under `device memory`, or more microbatches, keeps fewer"
		}
		if rest != "" {
			out = append(out, fmt.Sprintf("%s take %s: %s", u.Kind, units.Bytes(u.Bytes), rest))
		}
	}
	return append([]string{fmt.Sprintf("%s are missing on each device", units.AtLeast(missing))}, out...)
}

// replicated is how many devices hold the same elements of the optimizer's largest state, on the first device.
func replicated(p *program.Plan) int {
	d := &p.Devices[0]
	var largest *program.Buffer
	for i := range d.Buffers {
		if b := &d.Buffers[i]; b.Space == program.Optimizer && b.Memory == "" && (largest == nil || b.Bytes > largest.Bytes) {
			largest = b
		}
	}
	if largest == nil {
		return 1
	}
	n := p.Mesh.Ranks() / max(p.Mesh.Parts(p.By), 1)
	for _, a := range largest.Axes {
		n /= max(p.Mesh.Parts(a.Mesh), 1)
	}
	return max(n, 1)
}
