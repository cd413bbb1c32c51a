package program

// Plan is everything that `ptc run` and `ptc explain` need: nothing of the
// machine that compiled, and nothing else is read beside it.
type Plan struct {
	Name     string     `cbor:"1,keyasint,omitempty"` // the model's name
	Layout   string     `cbor:"2,keyasint,omitempty"` // the layout's name
	Compiler string     `cbor:"3,keyasint,omitempty"` // version of the ptc that compiled, for example "0.1.0"
	LLVM     string     `cbor:"4,keyasint,omitempty"` // version of libLLVM, where it made the code
	Target   string     `cbor:"5,keyasint,omitempty"` // resolved target, for example "cpu:x86-64-v4"
	Features []string   `cbor:"6,keyasint,omitempty"` // processor features that the code needs
	Sources  []Source   `cbor:"7,keyasint,omitempty"` // user's files first, then what they import
	Config   []KV       `cbor:"8,keyasint,omitempty"` // resolved config values, in the order of the file
	Mesh     []MeshAxis `cbor:"9,keyasint,omitempty"`
	Code     []Code     `cbor:"10,keyasint,omitempty"`
	Kernels  []Kernel   `cbor:"11,keyasint,omitempty"`
	Devices  []Device   `cbor:"12,keyasint,omitempty"` // one per distinct program; see Device.At
	Data     Data       `cbor:"13,keyasint,omitempty"`
	Passes   []string   `cbor:"14,keyasint,omitempty"` // in the order in which they ran
	Remarks  []Remark   `cbor:"15,keyasint,omitempty"`
	Stats    Stats      `cbor:"16,keyasint,omitempty"`
	// Refined pairs axes of Mesh with the axis of the layout that they are parts
	// of, together with their neighbours.
	Refined []KV `cbor:"17,keyasint,omitempty"`
	// By are the mesh axes by which devices differ in their programs, in the order
	// of Mesh: there is one of Devices for each combination of coordinates on them,
	// and every rank with these coordinates runs it.
	By []string `cbor:"18,keyasint,omitempty"`
	// Schedules say how kernels, by their keys, were cut where the compilation was told it.
	Schedules []KV `cbor:"19,keyasint,omitempty"`
	// Roof is what a device of the target does at most, where the target is so narrow that
	// this is known.
	Roof *Roof `cbor:"20,keyasint,omitempty"`
	// Variants are the kernels in code for other devices of the target's family. Which code a
	// device runs, its engine chooses.
	Variants []Variant `cbor:"21,keyasint,omitempty"`
	// Names are how other programs call the parameters, by which files of theirs are written.
	Names []Names `cbor:"22,keyasint,omitempty"`
	// Adapters are rules for the parameters that have a low-rank adapter: of those that
	// hold for one, the first.
	Adapters []Adapter `cbor:"23,keyasint,omitempty"`
	// Memory is the bytes that one device has, where the layout says so; else 0.
	Memory int64 `cbor:"24,keyasint,omitempty"`
	// Settings are the entries of Config that a run may give another value, and those that are
	// computed of some; Guards what has to hold of the values for the plan to be of them.
	Settings []Setting `cbor:"25,keyasint,omitempty"`
	Guards   []Guard   `cbor:"26,keyasint,omitempty"`
}

// Setting is an entry of the config that is a port of the plan: ports of RoleSetting are
// computed of the values of all. Where Is is not empty, it is the formula by which the entry
// is computed of others, and a run cannot set it.
type Setting struct {
	Name  string  `cbor:"1,keyasint,omitempty"`
	Value float64 `cbor:"2,keyasint,omitempty"`
	Whole bool    `cbor:"3,keyasint,omitempty"` // it has to be a whole number
	Is    string  `cbor:"4,keyasint,omitempty"`
}

// Guard is a comparison of settings, such as `decay != 0`, and whether it holds in the
// plan: which operations there are may depend on it.
type Guard struct {
	Text  string `cbor:"1,keyasint,omitempty"`
	Holds bool   `cbor:"2,keyasint,omitempty"`
}

// Roof is the most that a device does in a second, by its maker's figures.
type Roof struct {
	Device string  `cbor:"1,keyasint,omitempty"` // "NVIDIA H200"
	Bytes  float64 `cbor:"2,keyasint,omitempty"` // of its memory, read and written
	Rates  []Rate  `cbor:"3,keyasint,omitempty"` // of arithmetic; f32 is that of all that no other is for
}

// Rate is the floating-point operations a second of products whose factors are of a dtype.
type Rate struct {
	DType string  `cbor:"1,keyasint,omitempty"`
	Flops float64 `cbor:"2,keyasint,omitempty"`
}

// Source is one source text.
type Source struct {
	Name   string `cbor:"1,keyasint,omitempty"` // relative to the compiled file, or "std/nn.ptl"
	Text   string `cbor:"2,keyasint,omitempty"`
	SHA256 string `cbor:"3,keyasint,omitempty"` // of Text, in hexadecimal
}

// KV is one named value.
type KV struct {
	Key   string `cbor:"1,keyasint,omitempty"`
	Value string `cbor:"2,keyasint,omitempty"`
}

// MeshAxis is one axis of the device mesh.
type MeshAxis struct {
	Name string `cbor:"1,keyasint,omitempty"`
	Size int    `cbor:"2,keyasint,omitempty"`
}

// Code is machine code, or text that stands for it. The kernels of one device
// are of one kind.
type Code struct {
	Kind string `cbor:"1,keyasint,omitempty"` // loader: "elf" (object file), "ir" (printed IR for ref), "ptx"
	Data []byte `cbor:"2,keyasint,omitempty"`
}

// Kernel is one native function; programs call it by index.
type Kernel struct {
	Name    string `cbor:"1,keyasint,omitempty"`  // for reading: "layernorm.3"
	Class   string `cbor:"2,keyasint,omitempty"`  // map, row, column, gemm, scatter, …
	Code    int    `cbor:"3,keyasint,omitempty"`  // index in Plan.Code
	Symbol  string `cbor:"4,keyasint,omitempty"`  // in the code
	Args    []Arg  `cbor:"5,keyasint,omitempty"`  // the buffers it takes, in order
	Tasks   int64  `cbor:"6,keyasint,omitempty"`  // independent parts; any partition gives the same result
	Scratch int64  `cbor:"7,keyasint,omitempty"`  // bytes of thread-private memory
	Flops   int64  `cbor:"8,keyasint,omitempty"`  // of one call
	Bytes   int64  `cbor:"9,keyasint,omitempty"`  // of one call, read and written at least
	IR      string `cbor:"10,keyasint,omitempty"` // printed kernel function, for explain and check
	// Threads and Shared are of a GPU, of which a task is a block of threads: how many
	// there are, and the bytes of memory they share; 0 elsewhere.
	Threads int64 `cbor:"11,keyasint,omitempty"`
	Shared  int64 `cbor:"12,keyasint,omitempty"`
	// Factors is the dtype of what its products multiply, the widest of several; empty
	// where it has none.
	Factors string `cbor:"13,keyasint,omitempty"`
	// Maps are arguments of a GPU's kernel behind Args.
	Maps []TensorMap `cbor:"14,keyasint,omitempty"`
	// Products are all that the kernel does, where that is products which libraries compute as well;
	// else there are none.
	Products []Product `cbor:"15,keyasint,omitempty"`
}

// Arg is one buffer that a kernel takes.
type Arg struct {
	Bytes int64 `cbor:"1,keyasint,omitempty"` // it touches no more of the buffer
	Write bool  `cbor:"2,keyasint,omitempty"` // it writes the buffer, and may read it; else it only reads
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
// there is fetched and stored.
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
// [Plan.Box].
type Axis struct {
	Name   string   `cbor:"1,keyasint,omitempty"`
	Size   int      `cbor:"2,keyasint,omitempty"`
	Global int      `cbor:"3,keyasint,omitempty"`
	Mesh   []string `cbor:"4,keyasint,omitempty"`
}

// Instr is one step of a program: a call of a kernel, or a communication.
type Instr struct {
	Kernel int    `cbor:"1,keyasint,omitempty"` // index in Plan.Kernels; 0 where Comm is set
	Bufs   []int  `cbor:"2,keyasint,omitempty"` // indices in Device.Buffers, in the order of the kernel's arguments
	Scope  string `cbor:"3,keyasint,omitempty"`
	// NoWait says that the instruction need not wait for the earlier ones back
	// to the last that waits, that one included: it reads and writes nothing
	// that they write, and writes nothing that they read. It is the opposite of
	// the attribute `wait` of ir(Planned). Validate proves it.
	NoWait bool `cbor:"4,keyasint,omitempty"`
	// Comm, where set, makes this a communication: Bufs are its source and its
	// destination (a send has only the first, a receive only the second, done
	// neither). It always waits for the kernels before it.
	Comm *Comm `cbor:"5,keyasint,omitempty"`
	// Pos is the place in the source that it comes from, such as gpt.ptl:63:9; of
	// a kernel that of the operation which others were fused with.
	Pos string `cbor:"6,keyasint,omitempty"`
	// Ahead is by how many turns of its run it is issued before the instructions
	// that stand next to it, below 0 behind them; see [Run]. Outside of runs it is 1 of a
	// receive that is begun in the turn before its own, see [Task].
	Ahead int `cbor:"7,keyasint,omitempty"`
	// First is what is called in the first turn of its task in place of Kernel, or nil.
	First *First `cbor:"8,keyasint,omitempty"`
	// With says that the instruction, which does not wait, is launched together with the
	// one before it, a call of the same kernel; both are outside of runs.
	With bool `cbor:"9,keyasint,omitempty"`
}

// Comm is one communication of a device, with the devices that differ from it
// only in their coordinates on the mesh axes Over (major to minor), or with one
// of them. Members of a group issue the same communications, with the same
// scope, in the same order.
type Comm struct {
	// Kind is all_reduce, reduce_scatter, all_gather, all_to_all, permute, send,
	// recv; or shard_slice, which keeps the device's own part and sends nothing;
	// or fetch and store, which copy buffers from and to another memory of the
	// device, each of the first half of Bufs to one of the second; or done, which
	// waits for a communication that was started.
	Kind   string   `cbor:"1,keyasint,omitempty"`
	Over   []string `cbor:"2,keyasint,omitempty"`
	Reduce string   `cbor:"3,keyasint,omitempty"` // sum or max
	DType  string   `cbor:"4,keyasint,omitempty"`
	// Outer and Inner are the view [outer, parts, inner], in elements, of the
	// buffer along the axis that is cut or joined; where nothing is, Outer is 1
	// and Inner the number of elements. DstOuter and DstInner are the view of an
	// all_to_all's destination.
	Outer    int64 `cbor:"5,keyasint,omitempty"`
	Inner    int64 `cbor:"6,keyasint,omitempty"`
	DstOuter int64 `cbor:"7,keyasint,omitempty"`
	DstInner int64 `cbor:"8,keyasint,omitempty"`
	From     []int `cbor:"9,keyasint,omitempty"`  // permute: by coordinate, the member received from, -1 for zeros
	Peer     int   `cbor:"10,keyasint,omitempty"` // send, recv: the other device: its rank; with Over its coordinate over these
	Tag      int   `cbor:"11,keyasint,omitempty"` // send, recv
	// Bytes is the payload of one device: all_reduce the tensor, all_gather the
	// gathered result, reduce_scatter its input, the others what leaves.
	Bytes int64  `cbor:"12,keyasint,omitempty"`
	Why   string `cbor:"13,keyasint,omitempty"` // the rule and source line that asked for it
	// Rest are the views of further tensors that an all_reduce, reduce_scatter
	// or all_gather exchanges together with the first: the buffers are all
	// sources and then all destinations, in one order.
	Rest []View `cbor:"14,keyasint,omitempty"`
	// Start says that the communication, which is no send, is only issued here. Until
	// the later instruction of kind done, whose Of is this one, nobody writes its sources
	// or touches its destinations. Receives of one stream (sender, receiver, tag) are
	// waited for in the order in which they were begun.
	Start bool `cbor:"15,keyasint,omitempty"`
	// Of is, of a done, the number of the instruction that started; in a run, for
	// the same instance, and in a task in the same turn.
	Of int `cbor:"16,keyasint,omitempty"`
	// Each is by how much Tag grows from one microbatch to the next.
	Each int `cbor:"17,keyasint,omitempty"`
}

// View is a tensor as [outer, parts, inner] elements, see [Comm].
type View struct {
	Outer int64 `cbor:"1,keyasint,omitempty"`
	Inner int64 `cbor:"2,keyasint,omitempty"`
}

// Program is a list of instructions, captured once and replayed: issued as they stand
// or, of a pipeline, task by task in the order of turns.
type Program struct {
	Name   string  `cbor:"1,keyasint,omitempty"` // "step" or "eval"
	Instrs []Instr `cbor:"2,keyasint,omitempty"`
	Runs   []Run   `cbor:"3,keyasint,omitempty"` // in order; each inside of one task
	Tasks  []Task  `cbor:"4,keyasint,omitempty"` // in order, of all instructions; or none
	Turns  []Turn  `cbor:"5,keyasint,omitempty"` // of tasks
	Micro  int     `cbor:"6,keyasint,omitempty"` // how many microbatches tasks are for
}

// Stack is a part of a model that is there many times, such as a block.
type Stack struct {
	Name  string `cbor:"1,keyasint,omitempty"`
	Count int    `cbor:"2,keyasint,omitempty"` // instances, numbered from 0
}

// Run says that the instructions [From, To) are issued for every instance of a
// stack, one instance after the other. What they have of every instance (a buffer,
// the number in a scope) is then that instance's.
//
// In turn t each is issued, in their order, for the instance that comes as number
// t + Ahead in the run, where there is one; turns go on until every instance has
// had all of them. So of two blocks the second can fetch its parameters while the
// first computes.
type Run struct {
	Stack int  `cbor:"1,keyasint,omitempty"` // number in Device.Stacks, from 1
	From  int  `cbor:"2,keyasint,omitempty"`
	To    int  `cbor:"3,keyasint,omitempty"`
	Down  bool `cbor:"4,keyasint,omitempty"` // from the last instance to the first
	// Together says that the only instruction, a kernel, is launched once with the tasks
	// of all instances, which do not touch what another one writes: NoWait is that of
	// this launch.
	Together bool `cbor:"5,keyasint,omitempty"`
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

// Init says how a tensor starts: its kind with its numbers, as strconv writes
// them. Values depend on the run's seed, the path and the global element index
// alone.
//
//	zeros, ones
//	constant  value
//	normal    mean (0), std (1)
//	uniform   low (-1), high (1)
type Init struct {
	Kind string `cbor:"1,keyasint,omitempty"`
	Args []KV   `cbor:"2,keyasint,omitempty"`
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
	// last turn.
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

// Data describes where batches come from.
type Data struct {
	Kind    string `cbor:"1,keyasint,omitempty"` // text, synthetic; empty where the model takes no data
	Options []KV   `cbor:"2,keyasint,omitempty"` // a key may repeat; the empty key is the positional argument
	Steps   int64  `cbor:"3,keyasint,omitempty"` // how long training is meant to be, from the source; 0 if it does not say
	// EvalEvery is the number of steps between validations; 0: only at the end.
	EvalEvery int64 `cbor:"4,keyasint,omitempty"`
	// Averages says how validation averages the loss and the metrics over batches: the loss
	// first. A plan of an earlier version has none.
	Averages []Average `cbor:"5,keyasint,omitempty"`
	// Epochs is how often training is meant to go through the data, where Steps is 0.
	Epochs int64 `cbor:"6,keyasint,omitempty"`
	Stop   *Stop `cbor:"7,keyasint,omitempty"` // nil: after the last step
}

// Stop says that training ends after Patience validations in a row in which nothing was
// better, by more than Least, than the best so far.
type Stop struct {
	On       string  `cbor:"1,keyasint,omitempty"` // the metric; empty for the loss
	Most     bool    `cbor:"2,keyasint,omitempty"` // more is better
	Patience int64   `cbor:"3,keyasint,omitempty"`
	Least    float64 `cbor:"4,keyasint,omitempty"`
}

// Remark is one decision of a pass.
type Remark struct {
	Pass  string `cbor:"1,keyasint,omitempty"`
	Pos   string `cbor:"2,keyasint,omitempty"`
	Scope string `cbor:"3,keyasint,omitempty"`
	Text  string `cbor:"4,keyasint,omitempty"`
}

// Stats are figures about compilation that are the same on every machine.
type Stats struct {
	OpsBeforeFusion int     `cbor:"1,keyasint,omitempty"`
	FlopsPerStep    float64 `cbor:"2,keyasint,omitempty"`
	TokensPerStep   int64   `cbor:"3,keyasint,omitempty"`
}
