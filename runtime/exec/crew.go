package exec

import (
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
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

// crew is the devices of a plan. Those of this process do jobs at the same time.
type crew struct {
	plan    *program.Plan
	threads int
	ranks   []*logical // all of the plan; those of other processes have no memory
	devices []*logical // of this process, by rank
	owns    bool       // the communication was opened here
	step    atomic.Int64
	workers []worker       // of the devices, where there are several
	working sync.WaitGroup // of each
	closed  bool
}

// worker is the goroutine of a device.
type worker struct {
	jobs chan func(*logical) error
	err  error // of the last job
}

// openCrew connects the devices and captures their programs. The crew is to be closed also if there is an error.
func openCrew(plan *program.Plan, o Options) (*crew, error) {
	c := &crew{plan: plan, threads: o.Threads}
	if c.threads == 0 {
		c.threads = processors.Count()
	}
	if err := c.connect(o); err != nil {
		return c, err
	}
	if err := c.fits(); err != nil {
		return c, err
	}
	var warn func(string)
	if o.Warn != nil {
		warned := map[string]bool{}
		warn = func(text string) {
			if !warned[text] {
				warned[text] = true
				o.Warn(text)
			}
		}
	}
	for _, d := range c.devices {
		if err := c.capture(d, &o, warn); err != nil {
			return c, err
		}
	}
	c.startWorkers()
	return c, nil
}

// connect lists the devices, and says which are of this process.
func (c *crew) connect(o Options) error {
	if n := c.plan.Mesh.Ranks(); n > comm.MaxDevices {
		return errorf(ReasonPlan, nil, "the plan is for %d devices, but ptc runs at most %d", n, comm.MaxDevices)
	}
	c.ranks = make([]*logical, c.plan.Mesh.Ranks())
	for i := range c.plan.Devices {
		d := &c.plan.Devices[i]
		for _, rank := range c.plan.RanksOf(d) {
			c.ranks[rank] = &logical{rank: rank, prog: d, at: &c.step}
		}
	}
	ends := o.Comm
	if ends == nil {
		mesh, err := comm.NewMesh(c.plan.Mesh)
		if err != nil {
			return errorf(ReasonPlan, err, "ptc cannot run the plan")
		}
		ends, err = comm.Open("local", mesh, comm.Options{Timeout: o.Timeout, InFlight: program.InFlight})
		if err != nil {
			return errorf(ReasonBug, err, "ptc cannot connect the devices")
		}
		c.owns = true
	}
	for _, end := range ends {
		if end.Mesh().Size() != len(c.ranks) {
			return errorf(ReasonBug, nil, "the plan has %d devices, but %d are connected", len(c.ranks), end.Mesh().Size())
		}
		d := c.ranks[end.Rank()]
		d.comm = end
		c.devices = append(c.devices, d)
	}
	if len(c.devices) == 0 {
		return errorf(ReasonBug, nil, "this process has no device of the plan")
	}
	if o.Blas != "" && o.Blas != device.BlasNone && len(c.devices) < len(c.ranks) {
		return errorf(ReasonInput, nil, "--blas %s needs one process with all devices, because each process would measure and choose kernels for itself", o.Blas)
	}
	return nil
}

// fits says whether the devices of this process can run here, together.
func (c *crew) fits() error {
	of := map[string][]*program.Device{}
	for _, d := range c.devices {
		kind := c.plan.CodeKind(d.prog)
		of[kind] = append(of[kind], d.prog)
	}
	for _, kind := range slices.Sorted(maps.Keys(of)) {
		k, err := device.Find(kind)
		if err != nil {
			return errorf(ReasonHost, err, "this host cannot run the plan's code")
		}
		if k.Fits == nil {
			continue
		}
		if err := k.Fits(c.plan, of[kind]); err != nil {
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

// capture makes the device's engine and its programs. Devices of a process share
// its threads.
func (c *crew) capture(d *logical, o *Options, warn func(string)) error {
	local := make([]*program.Device, len(c.ranks))
	for _, x := range c.devices {
		local[x.rank] = x.prog
	}
	d.exchanges = &exchanger{plan: c.plan, rank: d.rank, comm: d.comm, local: local, groups: map[string]*comm.Group{}}
	r := device.Request{
		Plan: c.plan, Device: d.prog, Rank: d.rank, Dir: o.OffloadDir, Cache: o.Cache, Blas: o.Blas,
		Threads:   max(1, c.threads/len(c.devices)),
		Exchanges: d.exchanges, Warn: warn,
	}
	if o.OnFault != nil {
		r.Fault = func(prog int, what string) {
			o.OnFault(errorf(ReasonBug, nil, "the code of the plan faulted in program %s, step %d, on rank %d: %s",
				d.prog.Progs[prog].Name, c.step.Load(), d.rank, what))
		}
	}
	kind, err := device.Find(c.plan.CodeKind(d.prog))
	if err != nil {
		return errorf(ReasonHost, err, "this host cannot run the plan's code")
	}
	engine, err := kind.Open(r)
	if err != nil {
		return cannot(fmt.Errorf("the plan's code does not load: %w", err))
	}
	d.engine = engine
	for i := range d.prog.Progs {
		p, err := engine.Capture(i)
		if err != nil {
			return errorf(ReasonBug, err, "ptc cannot prepare the programs of rank %d", d.rank)
		}
		d.progs = append(d.progs, p)
	}
	return nil
}

// startWorkers gives each device a goroutine, where there are several.
func (c *crew) startWorkers() {
	if len(c.devices) < 2 {
		return
	}
	c.workers = make([]worker, len(c.devices))
	for i, d := range c.devices {
		w := &c.workers[i]
		w.jobs = make(chan func(*logical) error, 1)
		go func() {
			for f := range w.jobs {
				if w.err = guarded(d, f); w.err != nil && w.err != ErrNotFinite {
					d.comm.Abort(w.err) // so that none waits for this one
				}
				c.working.Done()
			}
		}()
	}
}

// guarded turns a panic of f into an error.
func guarded(d *logical, f func(*logical) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errorf(ReasonBug, nil, "rank %d panicked: %v\n%s", d.rank, p, debug.Stack())
		}
	}()
	return f(d)
}

// each does f for every device of this process at the same time, and returns
// when all are done. The error is that of the device which failed first, not one
// of those that it ended.
func (c *crew) each(f func(*logical) error) error {
	switch {
	case c.closed:
		return errClosed
	case len(c.devices) == 1:
		return f(c.devices[0])
	}
	c.working.Add(len(c.devices))
	for i := range c.workers {
		c.workers[i].jobs <- f
	}
	c.working.Wait()
	var first error
	for i := range c.workers {
		err := c.workers[i].err
		if err != nil && !isAborted(err) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// Root says whether this process has rank 0, which collects whole tensors.
func (c *crew) Root() bool { return c.devices[0].rank == 0 }

// Shared says whether other processes have devices of the plan.
func (c *crew) Shared() bool { return len(c.devices) < len(c.ranks) }

// On is what a device runs on.
type On struct {
	Rank int
	device.On
}

// On is what the devices of this process run on, by rank, as far as their engines say it.
func (c *crew) On() (out []On) {
	for _, d := range c.devices {
		if x, ok := d.engine.(device.Described); ok {
			out = append(out, On{d.rank, x.On()})
		}
	}
	return out
}

// Blocked appends how long each device of this process, by rank, was blocked in the
// communication of its programs since it was opened, which is mostly waiting for the
// others. It is nothing where there is one device, and where a device communicates by
// itself, as GPUs do by NCCL: the host then knows no such times.
func (c *crew) Blocked(to []time.Duration) []time.Duration {
	if len(c.ranks) < 2 {
		return to
	}
	for _, d := range c.devices {
		if d.exchanges.enqueues {
			return to
		}
	}
	for _, d := range c.devices {
		to = append(to, d.exchanges.blocked)
	}
	return to
}

// close frees what the devices hold.
func (c *crew) close() {
	c.closed = true
	for i := range c.workers {
		close(c.workers[i].jobs)
	}
	for _, d := range c.devices {
		if d.here() {
			d.engine.Close()
		}
		if c.owns {
			_ = d.comm.Close() // of shared memory: it cannot fail
		}
	}
	c.ranks, c.devices, c.workers = nil, nil, nil // nothing may reach the freed memory by accident
}
