package program

import (
	"slices"

	"ptc/internal/dtype"
)

// Device is the program of one device, or of several that run the same: of all
// ranks with the coordinates At on the mesh axes [Plan.By]. Ranks are row-major
// numbers in the mesh.
type Device struct {
	At      []int     `cbor:"1,keyasint,omitempty"`
	Arena   int64     `cbor:"2,keyasint,omitempty"` // bytes of device memory
	Buffers []Buffer  `cbor:"3,keyasint,omitempty"`
	Tensors []Tensor  `cbor:"4,keyasint,omitempty"`
	Ports   []Port    `cbor:"5,keyasint,omitempty"`
	Progs   []Program `cbor:"6,keyasint,omitempty"`
	Host    int64     `cbor:"7,keyasint,omitempty"` // bytes of the arena in host memory
	Disk    int64     `cbor:"8,keyasint,omitempty"` // bytes of the arena in a file
	Stacks  []Stack   `cbor:"9,keyasint,omitempty"`
}

// Size is the bytes of the device's arena in a memory; -1 where it has none of
// that name.
func (d *Device) Size(memory string) int64 {
	switch memory {
	case "":
		return d.Arena
	case Host:
		return d.Host
	case Disk:
		return d.Disk
	}
	return -1
}

// Program is the program of a name, or nil.
func (d *Device) Program(name string) *Program {
	i := slices.IndexFunc(d.Progs, func(p Program) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &d.Progs[i]
}

// Count is how many instances a stack has, by its number; 1 for 0, of what is there
// once.
func (d *Device) Count(stack int) int {
	if stack == 0 {
		return 1
	}
	return d.Stacks[stack-1].Count
}

// Space says what a buffer is for.
type Space string

const (
	Params      Space = "params"
	Grads       Space = "grads"
	Optimizer   Space = "optimizer"
	Activations Space = "activations"
	Scratch     Space = "scratch"
	Inputs      Space = "inputs"
)

// Memories that a device has besides its own. Kernels do not reach them: what is
// there is loaded and stored.
const (
	Host = "host" // memory of the host
	Disk = "disk" // a file
)

// Buffer is a fixed range of an arena of a device; or a range for each instance of
// a stack, such as the activation that every block leaves for the backward phase.
// That of instance k begins Step·(k mod Ring) bytes behind Offset: all in one place
// where Ring is 0, each in its own where it is the stack's count. That of microbatch
// m is MicroStep·(m mod MicroRing) bytes further on, where a task leaves it to another
// one; else it is where that of every microbatch is.
type Buffer struct {
	Space  Space  `cbor:"1,keyasint,omitempty"`
	Offset int64  `cbor:"2,keyasint,omitempty"` // bytes from the arena's start; a multiple of 64
	Bytes  int64  `cbor:"3,keyasint,omitempty"`
	DType  string `cbor:"4,keyasint,omitempty"`
	Axes   []Axis `cbor:"5,keyasint,omitempty"`
	Memory string `cbor:"6,keyasint,omitempty"` // Host, Disk; empty: the device's own
	Stack  int    `cbor:"7,keyasint,omitempty"` // number of the stack in Device.Stacks, from 1; 0: one buffer
	Step   int64  `cbor:"8,keyasint,omitempty"` // bytes from one place to the next, up or down: a multiple of 64, at least Bytes; 0 where Ring is
	Ring   int    `cbor:"9,keyasint,omitempty"` // 0, or from 2 to the stack's count
	// MicroStep is a multiple of 64, at least Bytes, and MicroRing at least 2; or both are 0.
	MicroStep int64 `cbor:"10,keyasint,omitempty"`
	MicroRing int   `cbor:"11,keyasint,omitempty"`
	// Pad is how many elements that hold nothing follow each row, which is what is along the last axis.
	// Only what kernels alone write and read has any.
	Pad int `cbor:"12,keyasint,omitempty"`
}

// Axis is one named axis of a buffer's tensor, the last one contiguous. Global
// is the size of the whole tensor, Size this device's part; where the part
// begins is not stored: it follows from Mesh and the device's coordinates, see
// [Mesh.Box].
type Axis struct {
	Name   string   `cbor:"1,keyasint,omitempty"`
	Size   int      `cbor:"2,keyasint,omitempty"`
	Global int      `cbor:"3,keyasint,omitempty"`
	Mesh   []string `cbor:"4,keyasint,omitempty"`
}

// Elems is the number of elements that the device holds of a tensor with these
// axes.
func Elems(axes []Axis) int {
	n := 1
	for _, a := range axes {
		n *= a.Size
	}
	return n
}

// Size is the number of bytes of the buffer's elements, and of what pads their rows.
func (b *Buffer) Size() int64 {
	n := Elems(b.Axes)
	if last := len(b.Axes) - 1; b.Pad > 0 && last >= 0 {
		n = n / b.Axes[last].Size * (b.Axes[last].Size + b.Pad)
	}
	d, _ := dtype.Parse(b.DType)
	return dtype.Bytes(d, int64(n))
}

// DTypeSize is the number of bytes of one element, or 0 for an unknown dtype.
func DTypeSize(name string) int {
	d, _ := dtype.Parse(name)
	return d.Size()
}

// Tensor names a buffer that lives between steps: a parameter or a state. Where the
// buffer is one of every instance of a stack, so is the tensor, and the number of
// the instance is open in Path and Of: blocks.{i}.attn.wq.
type Tensor struct {
	Path   string `cbor:"1,keyasint,omitempty"` // blocks.3.attn.wq, or blocks.3.attn.wq/m for state
	Buffer int    `cbor:"2,keyasint,omitempty"`
	Init   Init   `cbor:"3,keyasint,omitempty"`
	Train  bool   `cbor:"4,keyasint,omitempty"` // a parameter that the optimizer updates
	// Of is, for a state that is a copy of a parameter in more bits, that
	// parameter's path: the copy starts with the values that are drawn for it.
	Of string `cbor:"5,keyasint,omitempty"`
}

// tensorsByPath are the places of the first tensor of each path.
func (d *Device) tensorsByPath() map[string]int {
	paths := make(map[string]int, len(d.Tensors))
	for i := range d.Tensors {
		if _, ok := paths[d.Tensors[i].Path]; !ok {
			paths[d.Tensors[i].Path] = i
		}
	}
	return paths
}

// stackOf is the stack of whose every instance a tensor is, 0 if it is one; below 0
// where its buffer is not here.
func (d *Device) stackOf(t *Tensor) int {
	if t.Buffer < 0 || t.Buffer >= len(d.Buffers) {
		return -1
	}
	return d.Buffers[t.Buffer].Stack
}

// Roles of ports.
const (
	RoleData    = "data"    // fed: a field of the batch, i32 or f32
	RoleStep    = "step"    // fed: i32 scalar, the number of the step, from 1
	RoleCoord   = "coord"   // fed once: i32[mesh]: the device's coordinate on each mesh axis
	RoleIndex   = "index"   // fed once: i32 scalar: Port.Number
	RoleSeed    = "seed"    // fed: i32 scalar, the low bits of the run's seed
	RoleSetting = "setting" // fed once: f32, f64 or i32 scalar: the formula Path of the plan's settings
	RoleLoss    = "loss"    // read: f32 or f64 scalar
	RoleStat    = "stat"    // read: f32 or f64 scalar, such as grad_norm or lr
	RoleGrad    = "grad"    // read after Port.After instructions: a parameter's gradient
)

// Port is a value that the runtime feeds or reads. Where the buffer is one of every
// instance of a stack, so is the port, and the number of the instance is open in Path;
// of a number (RoleIndex), the same holds of microbatches.
type Port struct {
	Program string `cbor:"1,keyasint,omitempty"` // step or eval
	Role    string `cbor:"2,keyasint,omitempty"` // RoleData, RoleStep, RoleSeed, RoleCoord, RoleIndex, RoleSetting; RoleLoss, RoleStat, RoleGrad
	Path    string `cbor:"3,keyasint,omitempty"` // field name, stat name, parameter path, formula
	Buffer  int    `cbor:"4,keyasint,omitempty"`
	// After is, for a gradient, the number of instructions after which the
	// buffer holds it (and before the next one it may be reused); else 0. Where the
	// last of them is in a run, it is that of the same instance; for one buffer, that
	// of the instance that comes last. Where it is in a task, it is that of the task's
	// last tick.
	After int `cbor:"5,keyasint,omitempty"`
	// Number is what a port of RoleIndex holds: the number of an instance of what is
	// repeated, such as a layer, or of a microbatch. That of instance or microbatch k is
	// k more.
	Number int32 `cbor:"6,keyasint,omitempty"`
}

// In says whether the runtime feeds the port: else it reads it.
func (p *Port) In() bool {
	switch p.Role {
	case RoleData, RoleStep, RoleSeed, RoleCoord, RoleIndex, RoleSetting:
		return true
	}
	return false
}
