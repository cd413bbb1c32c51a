package program

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// Limits on what a plan may ask for: far above what plans need, and low enough
// that sums and products of them do not overflow.
const (
	maxArena   = 1 << 46 // bytes
	maxTasks   = 1 << 40
	maxScratch = 1 << 32 // bytes of one thread
	maxElems   = 1 << 44
	maxRanks   = 1 << 20
	maxName    = 4096
	// Align is the alignment of buffers in bytes: a cache line, and a vector
	// register of the widest target.
	Align = 64
)

// InvalidError says what in a plan contradicts the rest of it. Compilers do not
// make such plans.
type InvalidError struct{ Msg string }

func (e *InvalidError) Error() string { return "invalid plan: " + e.Msg }

func invalid(format string, args ...any) error {
	return &InvalidError{Msg: fmt.Sprintf(format, args...)}
}

// Validate checks that the plan can be executed as it is: every index, place,
// size and name means something, buffers lie in their arena, tensors keep their
// places to themselves, kernels get the buffers they take, instructions that do not
// wait need not, and communications meet. What it cannot check is the code. Its error is an
// *InvalidError.
func (p *Plan) Validate() error {
	if err := p.validateMesh(); err != nil {
		return err
	}
	for i := range p.Code {
		if p.Code[i].Kind == "" {
			return invalid("code %d is of no kind", i)
		}
	}
	for i := range p.Kernels {
		if err := p.validateKernel(&p.Kernels[i]); err != nil {
			return invalid("kernel %d: %v", i, err)
		}
	}
	if p.Data.Steps < 0 {
		return invalid("training of %d steps", p.Data.Steps)
	}
	if p.Data.EvalEvery < 0 {
		return invalid("validation every %d steps", p.Data.EvalEvery)
	}
	for i := range p.Devices {
		if err := p.validateDevice(&p.Devices[i]); err != nil {
			return invalid("device %d: %v", i, err)
		}
	}
	if err := p.validateAlike(); err != nil {
		return err
	}
	return p.validateMeetings()
}

// validateMesh checks that the devices' ranks are those of the mesh, each once.
func (p *Plan) validateMesh() error {
	ranks := 1
	seen := map[string]bool{}
	for _, a := range p.Mesh {
		if err := name(a.Name); err != nil || seen[a.Name] {
			return invalid("mesh axis %q", a.Name)
		}
		seen[a.Name] = true
		if a.Size < 1 || a.Size > maxRanks/ranks {
			return invalid("mesh axis %s of size %d", a.Name, a.Size)
		}
		ranks *= a.Size
	}
	for _, r := range p.Refined {
		if err := name(r.Value); err != nil || !seen[r.Key] {
			return invalid("mesh axis %q is a part of %q", r.Key, r.Value)
		}
	}
	owner := make([]bool, ranks)
	left := ranks
	for i := range p.Devices {
		for _, r := range p.Devices[i].Ranks {
			if r < 0 || r >= ranks || owner[r] {
				return invalid("device %d has rank %d, in a mesh of %d", i, r, ranks)
			}
			owner[r] = true
			left--
		}
	}
	if left > 0 {
		return invalid("%d of %d ranks have no program", left, ranks)
	}
	return nil
}

func (p *Plan) validateKernel(k *Kernel) error {
	switch {
	case k.Code < 0 || k.Code >= len(p.Code):
		return fmt.Errorf("code %d of %d", k.Code, len(p.Code))
	case name(k.Symbol) != nil:
		return fmt.Errorf("symbol: %v", name(k.Symbol))
	case k.Tasks < 0 || k.Tasks > maxTasks:
		return fmt.Errorf("%d tasks", k.Tasks)
	case k.Scratch < 0 || k.Scratch > maxScratch:
		return fmt.Errorf("%d bytes of scratch", k.Scratch)
	case k.Flops < 0 || k.Bytes < 0:
		return fmt.Errorf("a cost of %d operations and %d bytes", k.Flops, k.Bytes)
	}
	for i, a := range k.Args {
		if a.Bytes < 0 || a.Bytes > maxArena {
			return fmt.Errorf("argument %d of %d bytes", i, a.Bytes)
		}
	}
	return nil
}

// validateAlike checks that devices agree on what is global: the programs in
// their order, the tensors' types and initial values, and the types of data and
// gradients.
func (p *Plan) validateAlike() error {
	first := map[string]owner{}
	for i := range p.Devices {
		d := &p.Devices[i]
		if !slices.EqualFunc(d.Progs, p.Devices[0].Progs, func(a, b Program) bool { return a.Name == b.Name }) {
			return invalid("devices 0 and %d have different programs", i)
		}
		for j := range d.Tensors {
			t := &d.Tensors[j]
			key, o := "tensor "+t.Path, owner{device: i, buffer: &d.Buffers[t.Buffer], tensor: t}
			if err := first[key].agree(o, key); err != nil {
				return err
			}
			first[key] = o
		}
		for j := range d.Ports {
			x := &d.Ports[j]
			if x.Role != RoleData && x.Role != RoleGrad {
				continue
			}
			key, o := x.Program+" "+x.Role+" "+x.Path, owner{device: i, buffer: &d.Buffers[x.Buffer]}
			if err := first[key].agree(o, key); err != nil {
				return err
			}
			first[key] = o
		}
	}
	return nil
}

// owner is what a device says of something global.
type owner struct {
	device int
	buffer *Buffer
	tensor *Tensor
}

func (o owner) agree(with owner, what string) error {
	if o.buffer == nil { // no one has said anything
		return nil
	}
	same := sameWhole(o.buffer, with.buffer)
	if same && o.tensor != nil {
		same = o.tensor.Train == with.tensor.Train && o.tensor.Of == with.tensor.Of && o.tensor.Init.equal(&with.tensor.Init)
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
		return fmt.Errorf("a name of %d bytes", len(s))
	case !utf8.ValidString(s):
		return fmt.Errorf("a name that is not UTF-8")
	}
	return nil
}

// names says whether the instruction's scope and position are such as can be shown.
func (in *Instr) names() bool {
	return len(in.Scope) <= maxName && len(in.Pos) <= maxName && utf8.ValidString(in.Scope) && utf8.ValidString(in.Pos)
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
