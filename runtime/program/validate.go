package program

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// InvalidError says what in a plan contradicts the rest of it. Compilers do not
// make such plans, unless a program is larger than plans can be.
type InvalidError struct {
	Msg   string
	Limit *LimitError // that the plan exceeds, or nil
}

func (e *InvalidError) Error() string { return "invalid plan: " + e.Msg }

// Unwrap gives the limit.
func (e *InvalidError) Unwrap() error {
	if e.Limit == nil {
		return nil
	}
	return e.Limit
}

func invalid(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	e := &InvalidError{Msg: err.Error()}
	errors.As(err, &e.Limit)
	return e
}

// Validate checks that the plan can be executed as it is: every index, place,
// size and name means something, buffers lie in their arena, tensors keep their
// places to themselves, kernels get the buffers they take, instructions that do not
// wait need not, and communications meet. What it cannot check is the code. Its error is an
// *InvalidError.
func (p *Plan) Validate() error {
	if err := p.validateCounts(); err != nil {
		return invalid("%w", err)
	}
	if err := p.validateMesh(); err != nil {
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
	if err := p.validateSettings(); err != nil {
		return invalid("%w", err)
	}
	for i := range p.Devices {
		if err := p.validateDevice(&p.Devices[i]); err != nil {
			return invalid("device %d: %w", i, err)
		}
	}
	if err := p.validateAverages(); err != nil {
		return invalid("%w", err)
	}
	if err := p.validateNames(); err != nil {
		return invalid("%w", err)
	}
	if err := p.validateVariants(); err != nil {
		return invalid("%w", err)
	}
	if err := p.validateAlike(); err != nil {
		return err
	}
	return p.validateMeetings()
}

// validateCounts checks the lengths of what is not bounded otherwise.
func (p *Plan) validateCounts() error {
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
			if err := within(CountLimit, "%d turns", int64(len(p.Turns)), maxTurns); err != nil {
				return err
			}
		}
	}
	return nil
}

// validateMesh checks that every rank of the mesh has one program.
func (p *Plan) validateMesh() error {
	ranks := 1
	seen := map[string]bool{}
	for _, a := range p.Mesh {
		if err := name(a.Name); err != nil || seen[a.Name] {
			return invalid("%w", unlessLimit(err, "mesh axis %q", a.Name))
		}
		seen[a.Name] = true
		if a.Size < 1 {
			return invalid("mesh axis %s of size %d", a.Name, a.Size)
		}
		if err := within(CountLimit, "%d devices along mesh axis "+a.Name, int64(a.Size), int64(maxRanks/ranks)); err != nil {
			return invalid("%w", err)
		}
		ranks *= a.Size
	}
	for _, r := range p.Refined {
		if err := name(r.Value); err != nil || !seen[r.Key] {
			return invalid("mesh axis %q is a part of %q", r.Key, r.Value)
		}
	}
	if n := p.Stats.FlopsPerStep; !(n >= 0 && n <= math.MaxFloat64) {
		return invalid("a step of %g operations", n)
	}
	return p.validateClasses()
}

func (r *Roof) validate() error {
	if r == nil {
		return nil
	}
	positive := func(x float64) bool { return x > 0 && x <= math.MaxFloat64 }
	if err := name(r.Device); err != nil {
		return fmt.Errorf("device: %w", err)
	}
	if !positive(r.Bytes) || len(r.Rates) == 0 {
		return fmt.Errorf("%g bytes a second, and %d rates", r.Bytes, len(r.Rates))
	}
	for _, x := range r.Rates {
		if !positive(x.Flops) || DTypeSize(x.DType) == 0 {
			return fmt.Errorf("%g operations a second of %q", x.Flops, x.DType)
		}
	}
	return nil
}

// validate checks a kernel, of so many pieces of code.
func (k *Kernel) validate(codes int) error {
	switch {
	case k.Code < 0 || k.Code >= codes:
		return fmt.Errorf("code %d of %d", k.Code, codes)
	case name(k.Symbol) != nil:
		return fmt.Errorf("symbol: %w", name(k.Symbol))
	case k.Tasks < 0:
		return fmt.Errorf("%d tasks", k.Tasks)
	case k.Tasks > maxTasks:
		return within(SizeLimit, "%d tasks", k.Tasks, maxTasks)
	case k.Scratch < 0:
		return fmt.Errorf("%d bytes of scratch", k.Scratch)
	case k.Scratch > maxScratch:
		return within(SizeLimit, "%d bytes of scratch memory for a thread", k.Scratch, maxScratch)
	case k.Threads < 0 || k.Threads > maxThreads:
		return fmt.Errorf("blocks of %d threads", k.Threads)
	case k.Shared < 0 || k.Shared > maxShared:
		return fmt.Errorf("blocks with %d bytes of shared memory", k.Shared)
	case k.Flops < 0 || k.Bytes < 0:
		return fmt.Errorf("a cost of %d operations and %d bytes", k.Flops, k.Bytes)
	}
	for i, a := range k.Args {
		if a.Bytes < 0 {
			return fmt.Errorf("argument %d of %d bytes", i, a.Bytes)
		}
		if err := within(SizeLimit, "an argument of %d bytes", a.Bytes, maxArena); err != nil {
			return fmt.Errorf("argument %d: %w", i, err)
		}
	}
	return k.validateProducts()
}

// validateAlike checks that devices agree on what is global: the programs in
// their order, the tensors' types and initial values, and the types of data and
// gradients.
func (p *Plan) validateAlike() error {
	all := paths[owner]{meet: owner.agree}
	for i := range p.Devices {
		d := &p.Devices[i]
		if !slices.EqualFunc(d.Progs, p.Devices[0].Progs, func(a, b Program) bool { return a.Name == b.Name }) {
			return invalid("devices 0 and %d have different programs", i)
		}
		for j := range d.Tensors {
			t := &d.Tensors[j]
			b := &d.Buffers[t.Buffer]
			if err := all.add("tensor", t.Path, d.Count(b.Stack), owner{device: i, buffer: b, tensor: t}); err != nil {
				return err
			}
		}
		for j := range d.Ports {
			x := &d.Ports[j]
			if x.Role != RoleData && x.Role != RoleGrad {
				continue
			}
			b := &d.Buffers[x.Buffer]
			if err := all.add(x.Program+" "+x.Role, x.Path, d.Count(b.Stack), owner{device: i, buffer: b}); err != nil {
				return err
			}
		}
	}
	return all.compare()
}

// owner is what a device says of something global.
type owner struct {
	device int
	buffer *Buffer
	tensor *Tensor
}

// agree compares what devices say of instance i of one and j of the other, which go
// by one path. Where a copy's path is open, its number is the one that is open in the
// path of what it is a copy of: so any pair of instances that agrees stands for all.
func (o owner) agree(with owner, what string, i, j int) error {
	same := sameWhole(o.buffer, with.buffer)
	if same && o.tensor != nil {
		same = o.tensor.Train == with.tensor.Train && of(o.tensor.Of, i) == of(with.tensor.Of, j) && o.tensor.Init.equal(&with.tensor.Init)
	}
	if !same {
		return invalid("devices %d and %d disagree on %s", o.device, with.device, what)
	}
	return nil
}

// sameWhole says whether two buffers are parts of tensors of one type.
func sameWhole(a, b *Buffer) bool {
	if a.DType != b.DType || len(a.Axes) != len(b.Axes) {
		return false
	}
	for i := range a.Axes {
		if a.Axes[i].Name != b.Axes[i].Name || a.Axes[i].Global != b.Axes[i].Global {
			return false
		}
	}
	return true
}

func (x *Init) equal(y *Init) bool { return x.Kind == y.Kind && slices.Equal(x.Args, y.Args) }

// name checks that s can name something.
func name(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("an empty name")
	case len(s) > maxName:
		return within(NameLimit, "a name of %d bytes", int64(len(s)), maxName)
	case !utf8.ValidString(s):
		return fmt.Errorf("a name that is not UTF-8")
	}
	return nil
}

// names checks that the instruction's scope and position can be shown.
func (in *Instr) names() error {
	if !utf8.ValidString(in.Scope) || !utf8.ValidString(in.Pos) {
		return fmt.Errorf("a scope or position that is not UTF-8")
	}
	if err := within(NameLimit, "a scope's name of %d bytes", int64(len(in.Scope)), maxName); err != nil {
		return err
	}
	return within(NameLimit, "a position of %d bytes", int64(len(in.Pos)), maxName)
}

// CodeKind is the kind of code that the device's programs call, or "" where
// they call nothing.
func (p *Plan) CodeKind(d *Device) string {
	for i := range d.Progs {
		for _, in := range d.Progs[i].Instrs {
			if in.Comm == nil {
				return p.Code[p.Kernels[in.Kernel].Code].Kind
			}
		}
	}
	return ""
}
