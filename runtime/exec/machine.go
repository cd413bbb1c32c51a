package exec

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ptc/internal/processors"
	"ptc/runtime/comm"
	_ "ptc/runtime/comm/local" // how devices of one process communicate
	_ "ptc/runtime/cuda"       // what runs PTX
	"ptc/runtime/device"
	_ "ptc/runtime/device/host" // what runs object code
	"ptc/runtime/program"
)

// Options of a machine.
type Options struct {
	Threads int // of all devices of this process together; 0: one for each processor

	// Comm are the ends of the communication of the devices that this process
	// has, where the others have the rest. Nil: it has all of them. The caller
	// closes them, after the machine.
	Comm []comm.Device

	// Timeout is how long a device waits for another, where Comm is nil; 0: as
	// package comm has it.
	Timeout time.Duration

	// OffloadDir is the folder for the files of what is offloaded to disk; empty:
	// the system's for temporary files.
	OffloadDir string

	// Blas names a library of matrix products, as device.Request has it. Which one is faster is measured, and
	// devices of other processes may choose otherwise: so all are to be of this one.
	// Cache are folders for the choices, as device.Request has them.
	Blas  string
	Cache []string

	// Warn is told what the user should know and does not end the run, each thing once; nil: nobody is.
	Warn func(text string)

	// OnFault is called, on a goroutine of its own, where native code makes the
	// process fault, with an *Error of ReasonBug: to say so and to end the process,
	// which is ended after it anyway. Nil: the fault is printed.
	OnFault func(error)
}

// Machine is a captured plan: memory and code of the devices of this process.
type Machine struct {
	plan    *program.Plan
	threads int
	ranks   []*logical // all of the plan; those of other processes have no memory
	devices []*logical // of this process, by rank
	owns    bool       // the communication was opened here
	tensors []Tensor   // in the order of the plan
	parts   [][]part   // by tensor: on each device that has it, by rank
	byPath  map[string]int
	progs   []*Program
	steps   []*int32 // every program's step on every device
	seeds   []*int32
	working sync.WaitGroup // of each
	onFault func(error)
	warned  map[string]bool
	step    atomic.Int64 // as SetStep has it
	closed  bool
}

// Open captures a plan. It checks the plan, what the host can run and whether
// the arenas fit; every error is an *Error. Tensors have no values until Initialize
// or a Write; the plan must not be changed while the machine lives.
func Open(plan *program.Plan, o Options) (*Machine, error) {
	if err := plan.Validate(); err != nil {
		return nil, errorf(ReasonPlan, err, "the plan cannot be run")
	}
	plan, err := plan.Expanded()
	if err != nil {
		return nil, errorf(ReasonPlan, err, "the plan cannot be run")
	}
	if o.Threads < 0 {
		return nil, errorf(ReasonInput, nil, "%d threads cannot run", o.Threads)
	}
	m := &Machine{plan: plan, threads: o.Threads, onFault: o.OnFault, byPath: map[string]int{}, warned: map[string]bool{}}
	if m.threads == 0 {
		m.threads = processors.Count()
	}
	if err := m.open(o); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Machine) open(o Options) error {
	if err := m.connect(o); err != nil {
		return err
	}
	if err := m.fits(); err != nil {
		return err
	}
	for _, d := range m.devices {
		if err := m.capture(d, &o); err != nil {
			return err
		}
	}
	m.bindTensors()
	if err := m.bindPrograms(); err != nil {
		return err
	}
	m.startWorkers()
	return nil
}

// fits says whether the devices of this process can run here, together.
func (m *Machine) fits() error {
	of := map[string][]*program.Device{}
	for _, d := range m.devices {
		kind := m.plan.CodeKind(d.prog)
		of[kind] = append(of[kind], d.prog)
	}
	for _, kind := range slices.Sorted(maps.Keys(of)) {
		k, err := device.Find(kind)
		if err != nil {
			return errorf(ReasonHost, err, "the plan's code cannot be run")
		}
		if k.Fits == nil {
			continue
		}
		if err := k.Fits(m.plan, of[kind]); err != nil {
			return cannot(err)
		}
	}
	return nil
}

// cannot is the error of devices that cannot run here.
func cannot(err error) error {
	var full *device.MemoryError
	if errors.As(err, &full) {
		return errorf(ReasonMemory, full.Err, "%s", full.Msg)
	}
	return &Error{Reason: ReasonHost, Msg: err.Error()}
}

// connect lists the devices, and says which are of this process.
func (m *Machine) connect(o Options) error {
	if n := m.plan.Mesh.Ranks(); n > comm.MaxDevices {
		return errorf(ReasonPlan, nil, "the plan is for %d devices, and at most %d can run", n, comm.MaxDevices)
	}
	m.ranks = make([]*logical, m.plan.Mesh.Ranks())
	for i := range m.plan.Devices {
		d := &m.plan.Devices[i]
		for _, rank := range m.plan.RanksOf(d) {
			m.ranks[rank] = &logical{rank: rank, prog: d, at: &m.step, grads: make([][]gradPart, len(d.Progs)), guards: make([]guard, len(d.Progs))}
		}
	}
	ends := o.Comm
	if ends == nil {
		mesh, err := comm.NewMesh(m.plan.Mesh)
		if err != nil {
			return errorf(ReasonPlan, err, "the plan cannot be run")
		}
		ends, err = comm.Open("local", mesh, comm.Options{Timeout: o.Timeout, InFlight: program.InFlight})
		if err != nil {
			return errorf(ReasonBug, err, "the devices cannot be connected")
		}
		m.owns = true
	}
	for _, end := range ends {
		if end.Mesh().Size() != len(m.ranks) {
			return errorf(ReasonBug, nil, "the plan has %d devices, and %d are connected", len(m.ranks), end.Mesh().Size())
		}
		d := m.ranks[end.Rank()]
		d.comm = end
		m.devices = append(m.devices, d)
	}
	if len(m.devices) == 0 {
		return errorf(ReasonBug, nil, "no device of the plan is in this process")
	}
	if o.Blas != "" && o.Blas != device.BlasNone && len(m.devices) < len(m.ranks) {
		return errorf(ReasonInput, nil, "a library of products (%s) is chosen by its times, and processes would choose differently: all devices have to be of one process", o.Blas)
	}
	return nil
}

var errClosed = &Error{Reason: ReasonBug, Msg: "a plan was used after it was closed"}

// Close frees the memory and ends the threads. No view of a tensor or field may
// be used any more. Closing again does nothing.
func (m *Machine) Close() {
	if m.closed {
		return
	}
	m.closed = true
	for _, d := range m.devices {
		d.close()
		if m.owns {
			_ = d.comm.Close() // of shared memory: it cannot fail
		}
	}
	// Nothing may reach the freed memory by accident.
	m.ranks, m.devices, m.tensors, m.parts, m.byPath, m.steps, m.seeds = nil, nil, nil, nil, nil, nil, nil
	for _, p := range m.progs {
		p.unbind()
	}
}
