package program

import "math"

// Validate checks that the plan can be executed as it is: every index, place,
// size and name means something, buffers lie in their arena, tensors keep their
// places to themselves, kernels get the buffers they take, instructions that do not
// wait need not, and communications meet. What it cannot check is the code. Its error is an
// *InvalidError.
func (p *Plan) Validate() error {
	if err := validateCounts(p); err != nil {
		return invalid("%w", err)
	}
	if err := validateMesh(p); err != nil {
		return err
	}
	for i := range p.Code {
		if p.Code[i].Kind == "" {
			return invalid("code %d is of no kind", i)
		}
	}
	if err := p.Roof.validate(); err != nil {
		return invalid("the roofline: %w", err)
	}
	for i := range p.Kernels {
		k := &p.Kernels[i]
		if err := k.validate(len(p.Code)); err != nil {
			return invalid("kernel %d: %w", i, err)
		}
		if err := k.validateMaps(k.Args); err != nil {
			return invalid("kernel %d: %w", i, err)
		}
	}
	for _, a := range p.Adapters {
		if len(a.On) == 0 || math.IsNaN(a.Scale) || math.IsInf(a.Scale, 0) {
			return invalid("an adapter of %q times %g", a.On, a.Scale)
		}
	}
	if p.Data.Steps < 0 {
		return invalid("training of %d steps", p.Data.Steps)
	}
	if p.Data.EvalEvery < 0 {
		return invalid("validation every %d steps", p.Data.EvalEvery)
	}
	if p.Memory < 0 {
		return invalid("devices of %d bytes", p.Memory)
	}
	if err := validateSettings(p.Settings, p.Guards); err != nil {
		return invalid("%w", err)
	}
	for i := range p.Devices {
		if err := validateDevice(p, &p.Devices[i]); err != nil {
			return invalid("device %d: %w", i, err)
		}
	}
	if err := p.Data.validate(p.Devices); err != nil {
		return invalid("%w", err)
	}
	if err := validateNames(p.Names); err != nil {
		return invalid("%w", err)
	}
	if err := validateVariants(p); err != nil {
		return invalid("%w", err)
	}
	if err := validateAlike(p.Devices); err != nil {
		return err
	}
	return validateMeetings(p)
}

// validateCounts checks the lengths of what is not bounded otherwise.
func validateCounts(p *Plan) error {
	if err := counts(map[string]int{"kernels": len(p.Kernels), "remarks": len(p.Remarks)}); err != nil {
		return err
	}
	for i := range p.Devices {
		d := &p.Devices[i]
		if err := counts(map[string]int{"buffers": len(d.Buffers), "tensors": len(d.Tensors), "ports": len(d.Ports), "stacks": len(d.Stacks)}); err != nil {
			return err
		}
		for j := range d.Progs {
			p := &d.Progs[j]
			if err := counts(map[string]int{"instructions": len(p.Instrs), "tasks": len(p.Tasks)}); err != nil {
				return err
			}
			if err := within(CountLimit, "%d ticks", int64(len(p.Ticks)), maxTicks); err != nil {
				return err
			}
		}
	}
	return nil
}
