package cuda

import (
	"fmt"
	"math"
	"runtime"

	"ptc/internal/units"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// fits says whether there are GPUs here for devices of a plan, of the kind and with the memory
// that they need.
func fits(plan *program.Plan, devices []*program.Device) error {
	drv, err := driverOfPlan()
	if err != nil {
		return err
	}
	need := make([]int64, len(drv.gpus))
	many := make([]int, len(drv.gpus))
	var first *choice
	for i, d := range devices {
		at := i % len(drv.gpus)
		c, err := choose(plan, d, drv.gpus[at], drv.version)
		switch {
		case err != nil:
			return err
		case first == nil:
			first = c
		case c.target != first.target: // what is on several devices would not stay the same
			return fmt.Errorf("the plan's devices would run different code: %s that for %s, and %s that for %s; let ptc see GPUs of one kind alone (CUDA_VISIBLE_DEVICES)",
				drv.gpus[0].name, first.target, drv.gpus[at].name, c.target)
		}
		need[at] = min(need[at], math.MaxInt64-d.Arena) + d.Arena // no overflow
		many[at]++
	}
	if len(devices) != plan.Mesh.Ranks() {
		return nil // which ranks these are, and so on which GPUs, their engines know
	}
	for i := range need {
		if err := drv.hasRoom(i, need[i], many[i]); err != nil {
			return err
		}
	}
	return nil
}

// hasRoom says whether a GPU has so many bytes free, for so many devices.
func (d *driver) hasRoom(i int, need int64, devices int) error {
	if devices == 0 {
		return nil
	}
	g := d.gpus[i]
	ctx, err := d.retain(g.device)
	if err != nil {
		return fmt.Errorf("GPU %d (%s) cannot be used: %w", i, g.name, err)
	}
	defer func() { _ = d.release(g.device) }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := d.call(d.CtxSetCurrent, ctx); err != nil {
		return err
	}
	free, _, err := d.memInfo()
	if err != nil || need <= free {
		return err
	}
	on := ""
	if devices > 1 {
		on = fmt.Sprintf(" for its %d devices there", devices)
	}
	return &device.MemoryError{Msg: fmt.Sprintf("the plan needs %s of memory%s, and GPU %d (%s) has %s free; a smaller batch, recomputing activations or offloading needs less",
		units.Bytes(need), on, i, g.name, units.Bytes(free))}
}
