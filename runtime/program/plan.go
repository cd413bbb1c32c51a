package program

// Plan is everything that `ptc run` and `ptc explain` need: nothing of the
// machine that compiled, and nothing else is read beside it.
type Plan struct {
	Name     string   // the model's name
	Layout   string   // the layout's name
	Target   string   // resolved target, for example "cpu:x86-64-v4"
	Features []string // processor features that the code needs
	Sources  []Source // user's files first, then what they import
	Config   []KV     // resolved config values, in the order of the file
	Mesh     []MeshAxis
	Code     []Code
	Kernels  []Kernel
	Devices  []Device // one per distinct program; see Device.Ranks
	Data     Data
	Remarks  []Remark
	Stats    Stats
}

// Source is one source text.
type Source struct{ Name, Text, SHA256 string }

// KV is one named value.
type KV struct{ Key, Value string }

// MeshAxis is one axis of the device mesh.
type MeshAxis struct {
	Name string
	Size int
}

// Code is machine code, or text that stands for it.
type Code struct {
	Kind string // loader: "elf" (object file), "ir" (printed IR for ref), "ptx"
	Data []byte
}

// Kernel is one native function; programs call it by index.
type Kernel struct {
	Name    string // for reading: "layernorm.3"
	Class   string // map, row, column, gemm, scatter, …
	Code    int    // index in Plan.Code
	Symbol  string // in the code
	Tasks   int64  // independent parts; any partition gives the same result
	Scratch int64  // bytes of thread-private memory
	Flops   int64  // of one call
	Bytes   int64  // of one call, read and written at least
	IR      string // printed kernel function, for explain and check
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

// Buffer is a fixed range of a device's arena.
type Buffer struct {
	Space  Space
	Offset int64 // bytes from the arena's start; a multiple of 64
	Bytes  int64
	DType  string
	Axes   []Axis
}

// Axis is one named axis of a buffer's tensor. Global is the size of the whole
// tensor, Size this device's part; Offset is not stored: it follows from Mesh
// and the device's coordinates.
type Axis struct {
	Name   string
	Size   int
	Global int
	Mesh   []string
}

// Instr is one step of a program: a call of a kernel.
type Instr struct {
	Kernel int   // index in Plan.Kernels
	Bufs   []int // indices in Device.Buffers, in the order of the kernel's arguments
	Scope  string
}

// Program is a straight list of instructions, captured once and replayed.
type Program struct {
	Name   string // "step" or "eval"
	Instrs []Instr
}

// Tensor names a buffer that lives between steps: a parameter or a state.
type Tensor struct {
	Path   string // blocks.3.attn.wq, or blocks.3.attn.wq/m for state
	Buffer int
	Init   Init
	Train  bool // a parameter that the optimizer updates
}

// Init says how a tensor starts: kind "zeros", "ones", "constant", "normal",
// "uniform", "orthogonal" …, with its numbers. Values depend on the run's
// seed, the path and the global element index alone.
type Init struct {
	Kind string
	Args []KV
}

// Port is a value that the runtime feeds or reads.
type Port struct {
	Program string // step or eval
	Role    string // data, step, seed; loss, stat, grad
	Path    string // field name, stat name, parameter path
	Buffer  int
	// After is, for a gradient, the number of instructions after which the
	// buffer holds it (and before the next one it may be reused); else 0.
	After int
}

// Device is the program of one device, or of several that run the same.
type Device struct {
	Ranks   []int // logical devices that run this
	Arena   int64 // bytes
	Buffers []Buffer
	Tensors []Tensor
	Ports   []Port
	Progs   []Program
}

// Data describes where batches come from.
type Data struct {
	Kind    string // text, synthetic; empty where the model takes no data
	Options []KV
	Steps   int64 // how long training is meant to be, from the source; 0 if it does not say
}

// Remark is one decision of a pass.
type Remark struct {
	Pass, Pos, Scope, Text string
}

// Stats are figures about compilation that are the same on every machine.
type Stats struct {
	OpsBeforeFusion int
	FlopsPerStep    int64
	TokensPerStep   int64
}
