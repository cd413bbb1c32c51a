package program

import "fmt"

// validateDevice checks one device; the kernels and the mesh are known to be
// valid.
func validateDevice(p *Plan, d *Device) error {
	for _, memory := range []string{"", Host, Disk} {
		n := d.Size(memory)
		if n < 0 {
			return fmt.Errorf("an arena of %d bytes", n)
		}
		if err := within(SizeLimit, "an arena of %d bytes", n, maxArena); err != nil {
			return err
		}
	}
	for _, s := range d.Stacks {
		if err := s.validate(); err != nil {
			return err
		}
	}
	for i := range d.Buffers {
		if err := validateBuffer(p.Mesh, d, &d.Buffers[i]); err != nil {
			return fmt.Errorf("buffer %d: %w", i, err)
		}
	}
	if err := d.validateTensors(); err != nil {
		return err
	}
	check := newProgramCheck(p, d)
	progs := map[string]*Order{}
	for i := range d.Progs {
		prog := &d.Progs[i]
		if err := name(prog.Name); err != nil || progs[prog.Name] != nil {
			return unlessLimit(err, "two programs, or one without a name: %q", prog.Name)
		}
		o, err := check.program(prog)
		if err != nil {
			return fmt.Errorf("program %s, %w", prog.Name, err)
		}
		progs[prog.Name] = o
	}
	return (&portCheck{d, progs, len(p.Mesh), d.tensorsByPath(), portValuesOf(p.Settings)}).all()
}
