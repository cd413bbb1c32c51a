package cuda

import (
	"fmt"

	"ptc/internal/units"
)

// GPU is one of this machine's.
type GPU struct {
	Name       string `json:"name"`
	Capability string `json:"compute_capability"` // "9.0"
	Memory     int64  `json:"memory_bytes"`
}

// String is the GPU in a line.
func (g GPU) String() string {
	return fmt.Sprintf("%s, compute capability %s, %s", g.Name, g.Capability, units.Bytes(g.Memory))
}

// Machine is the driver of this machine with its GPUs.
type Machine struct {
	CUDA string `json:"cuda"` // the version of CUDA that the driver is of: "12.4"
	GPUs []GPU  `json:"gpus"` // in the order of their numbers
}

// Available says why there is no GPU of NVIDIA that plans could run on here, or nil.
func Available() error {
	_, err := openDriver()
	return err
}

// Find looks for GPUs that plans could run on here, or says why there are none.
func Find() (*Machine, error) {
	d, err := openDriver()
	if err != nil {
		return nil, err
	}
	m := &Machine{CUDA: fmt.Sprintf("%d.%d", d.version/1000, d.version%1000/10)}
	for _, g := range d.gpus {
		m.GPUs = append(m.GPUs, GPU{Name: g.name, Capability: fmt.Sprintf("%d.%d", g.major, g.minor), Memory: g.memory})
	}
	return m, nil
}
