package cuda

import (
	"fmt"
	"unsafe"

	"ptc/internal/foreign"
	"ptc/internal/units"
	"ptc/runtime/cuda/blaslt"
)

// opening is the driver that all engines of the process share.
var opening foreign.Shared[driver]

// Use replaces the machine's driver, for what is opened later. Nil ends that. What was chosen by
// times is forgotten. It is for tests.
func Use(find foreign.Lookup) {
	decided.Lock()
	decided.of = nil
	decided.Unlock()
	opening.Use(find)
}

// driverOfPlan is the driver for a plan that needs one.
func driverOfPlan() (*driver, error) {
	d, err := openDriver()
	if err != nil {
		return nil, fmt.Errorf("this plan is for GPUs of NVIDIA: %w", err)
	}
	return d, nil
}

// openDriver returns the driver that the process shares.
func openDriver() (*driver, error) { return opening.Get(newDriver) }

// newDriver finds the functions and the GPUs.
func newDriver(find foreign.Lookup) (*driver, error) {
	if find == nil {
		var err error
		if _, find, err = foreign.Load(foreign.Now|foreign.Local, library); err != nil {
			return nil, fmt.Errorf("there is no driver of a GPU of NVIDIA here: %s cannot be loaded: %w", library, err)
		}
	}
	d := &driver{}
	if missing := foreign.Find(d.all(), find); missing != "" {
		return nil, fmt.Errorf("the driver of the GPU is too old: %s has no %s, which came with CUDA 12; install a newer driver", library, missing)
	}
	if err := d.start(); err != nil {
		return nil, err
	}
	return d, nil
}

// start initializes the driver and describes its GPUs.
func (d *driver) start() error {
	if err := d.call(d.Init, 0); err != nil {
		if code(err) == noDevice {
			return errNoGPU
		}
		return fmt.Errorf("the driver of the GPU does not start: %w", err)
	}
	var err error
	if d.version, err = d.driverVersion(); err != nil {
		return err
	}
	n, err := d.deviceCount()
	if err != nil {
		return err
	}
	for i := range n {
		g, err := d.describe(i)
		if err != nil {
			return fmt.Errorf("GPU %d cannot be used: %w", i, err)
		}
		d.gpus = append(d.gpus, g)
	}
	if len(d.gpus) == 0 {
		return errNoGPU
	}
	return nil
}

// UUID tells the GPU that the device of a rank runs on from all others, of other hosts too.
func UUID(rank int) (id [16]byte, err error) {
	d, err := openDriver()
	if err != nil {
		return id, err
	}
	at := new([16]byte) // the driver writes to it
	err = d.call(d.DeviceGetUuid, uintptr(unsafe.Pointer(at)), uintptr(d.gpus[rank%len(d.gpus)].device))
	return *at, err
}

// FindBlas says which library may compute products here, or why there is none.
func FindBlas() (string, error) {
	d, err := openDriver()
	if err != nil {
		return "", err
	}
	l, err := blaslt.Open(d.version)
	if err != nil {
		return "", err
	}
	return l.String(), nil
}

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
