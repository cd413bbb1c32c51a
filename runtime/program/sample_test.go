package program

import (
	"crypto/sha256"
	"encoding/hex"

	"ptc/internal/collective"
)

// sample is a valid plan of two devices, which hold halves of w: it uses every
// field of every struct (see TestSampleIsFull).
func sample() *Plan {
	text := "model M { }\n"
	sum := sha256.Sum256([]byte(text))
	axes := []Axis{{Name: "out", Size: 4, Global: 8, Mesh: []string{"tp"}}, {Name: "in", Size: 3, Global: 3}}
	half := []Axis{{Name: "out", Size: 2, Global: 4, Mesh: []string{"tp"}}, {Name: "in", Size: 3, Global: 3}}
	return &Plan{
		Name: "M", Layout: "two", Compiler: "0.1.0", LLVM: "19.1.7", Target: "cpu:x86-64-v3",
		Features: []string{"avx2", "fma"},
		Sources:  []Source{{"m.ptl", text, hex.EncodeToString(sum[:])}},
		Config:   []KV{{"layers", "2"}, {"seed", "7"}},
		Mesh:     []MeshAxis{{"dp", 1}, {"tp", 2}},
		By:       []string{"dp"},
		Memory:   1 << 20,
		Settings: []Setting{{"layers", 2, true, ""}, {"deep", 3, false, "layers + 1"}},
		Guards:   []Guard{{"layers > 1", true}},
		Adapters: []Adapter{{On: []string{"blocks.*.w"}, Scale: 2}},
		Roof:     &Roof{Device: "a device", Bytes: 1e12, Rates: []Rate{{"f32", 1e13}}},
		Code:     []Code{{"elf", []byte{0x7f, 'E', 'L', 'F'}}},
		Kernels: []Kernel{
			{Name: "grad.0", Class: "map", Symbol: "k0", Tasks: 4, Args: []Arg{{Bytes: 48}, {Bytes: 48, Write: true}}, Flops: 12, Bytes: 96,
				Threads: 128, Shared: 1024, Factors: "bf16",
				Maps: []TensorMap{{Arg: 1, Offset: 16, DType: "bf16", Sizes: []int64{16, 1}, Strides: []int64{32}, Box: []int64{16, 8}, Swizzle: 32}}},
			{Name: "update.1", Class: "map", Code: 0, Symbol: "k1", Tasks: 1, Scratch: 64, Args: []Arg{{Bytes: 48}, {Bytes: 48, Write: true}}, IR: "func @k1"},
			{Name: "add.2", Class: "map", Symbol: "k2", Tasks: 1, Args: []Arg{{Bytes: 48}, {Bytes: 48}, {Bytes: 48, Write: true}}},
			products(),
		},
		Variants: []Variant{{Arch: "old", Code: []Code{{"elf", []byte{1}}, {"elf", []byte{2}}}, Roof: &Roof{Device: "an old device", Bytes: 1e11, Rates: []Rate{{"f32", 1e12}}},
			Kernels: []Kernel{{Symbol: "o0", Code: 1, Tasks: 2, Threads: 64, Shared: 512}, {Symbol: "o1", Tasks: 1, Scratch: 32}, {Symbol: "o2", Code: 1, Tasks: 8}, {Symbol: "o3", Tasks: 1}}}},
		Devices: []Device{{
			At:    []int{0},
			Arena: 2240, Host: 48, Disk: 112,
			Buffers: []Buffer{
				{Space: Params, Offset: 0, Bytes: 48, DType: "f32", Axes: axes},
				{Space: Optimizer, Offset: 64, Bytes: 48, DType: "f32", Axes: axes},
				{Space: Grads, Offset: 128, Bytes: 48, DType: "f32", Axes: axes},
				{Space: Inputs, Offset: 192, Bytes: 32, DType: "i32", Axes: []Axis{{Name: "batch", Size: 8, Global: 8}}},
				{Space: Inputs, Offset: 256, Bytes: 4, DType: "i32"},
				{Space: Activations, Offset: 320, Bytes: 4, DType: "f32"},
				{Space: Scratch, Offset: 384, Bytes: 320, DType: "f64", Axes: []Axis{{Name: "x", Size: 40, Global: 40}}},
				{Space: Scratch, Offset: 704, Bytes: 320, DType: "f64", Axes: []Axis{{Name: "y", Size: 40, Global: 40}}},
				{Space: Inputs, Offset: 1024, Bytes: 8, DType: "i32", Axes: []Axis{{Name: "mesh", Size: 2, Global: 2}}},
				{Space: Grads, Offset: 704, Bytes: 48, DType: "f32", Axes: axes},
				{Space: Scratch, Offset: 768, Bytes: 48, DType: "f32", Axes: axes},
				{Space: Optimizer, Offset: 0, Bytes: 48, DType: "f32", Axes: axes, Memory: Host},
				{Space: Optimizer, Offset: 0, Bytes: 24, DType: "f32", Axes: half, Memory: Host},
				{Space: Activations, Offset: 64, Bytes: 48, DType: "f32", Axes: axes, Memory: Disk},
				{Space: Optimizer, Offset: 832, Bytes: 24, DType: "f32", Axes: half},
				{Space: Params, Offset: 1088, Bytes: 48, DType: "f32", Axes: axes, Stack: 1, Step: 64, Ring: 4},
				{Space: Grads, Offset: 1344, Bytes: 48, DType: "f32", Axes: axes, Stack: 1, Step: 64, Ring: 2},
				{Space: Inputs, Offset: 1472, Bytes: 4, DType: "i32", Stack: 1, Step: 64, Ring: 4},
				{Space: Scratch, Offset: 1728, Bytes: 48, DType: "f32", Axes: []Axis{{Name: "x", Size: 2, Global: 2}, {Name: "y", Size: 5, Global: 5}}, Pad: 1, Stack: 1},
				{Space: Activations, Offset: 1792, Bytes: 48, DType: "f32", Axes: axes, MicroStep: 64, MicroRing: 2},
				{Space: Inputs, Offset: 1920, Bytes: 4, DType: "i32", MicroStep: 64, MicroRing: 4},
				{Space: Grads, Offset: 2176, Bytes: 48, DType: "f32", Axes: axes},
			},
			Tensors: []Tensor{
				{Path: "w", Buffer: 0, Init: Init{"normal", []KV{{"std", "0.02"}}}, Train: true},
				{Path: "w/m", Buffer: 1, Init: Init{Kind: "zeros"}, Of: "w"},
				{Path: "w/v", Buffer: 11, Init: Init{Kind: "zeros"}},
				{Path: "blocks.{i+1}.w", Buffer: 15, Init: Init{Kind: "ones"}, Train: true},
			},
			Ports: []Port{
				{Program: "step", Role: RoleData, Path: "tokens", Buffer: 3},
				{Program: "step", Role: RoleStep, Buffer: 4},
				{Program: "eval", Role: RoleCoord, Buffer: 8},
				{Program: "step", Role: RoleLoss, Buffer: 5},
				{Program: "step", Role: RoleStat, Path: "lr", Buffer: 5},
				{Program: "step", Role: RoleGrad, Path: "w", Buffer: 2, After: 1},
				{Program: "step", Role: RoleIndex, Path: "blocks.3", Buffer: 4, Number: 3},
				{Program: "blocks", Role: RoleIndex, Path: "blocks.{i+1}", Buffer: 17, Number: 1},
				{Program: "blocks", Role: RoleGrad, Path: "blocks.{i+1}.w", Buffer: 16, After: 4},
				{Program: "tasks", Role: RoleIndex, Path: "microbatch.{i}", Buffer: 20},
				{Program: "tasks", Role: RoleGrad, Path: "w", Buffer: 21, After: 4},
				{Program: "step", Role: RoleSetting, Path: "layers * 0.5", Buffer: 5},
				{Program: "eval", Role: RoleStat, Path: "loss.sum", Buffer: 5},
				{Program: "eval", Role: RoleStat, Path: "loss.weight", Buffer: 5},
				{Program: "eval", Role: RoleStat, Path: "metrics.f", Buffer: 5},
			},
			Progs: []Program{
				{Name: "step", Instrs: []Instr{
					{Kernel: 0, Bufs: []int{0, 2}, Pos: "gpt.ptl:63:9", Scope: "block.0"},
					{Kernel: 1, Bufs: []int{0, 1}, Scope: "optim", NoWait: true},
					{Kernel: 1, Bufs: []int{1, 0}},
				}},
				{Name: "eval", Instrs: []Instr{
					{Bufs: []int{2, 2}, Comm: &Comm{Kind: collective.AllReduce, Over: []string{"dp", "tp"}, Reduce: "sum", DType: "f32", Outer: 1, Inner: 12, Bytes: 48, Why: "a rule"}},
					{Bufs: []int{0, 2}, Comm: &Comm{Kind: collective.Permute, Over: []string{"tp"}, DType: "f32", Outer: 1, Inner: 12, From: []int{1, -1}, Bytes: 48}},
					{Bufs: []int{6, 7}, Comm: &Comm{Kind: collective.AllToAll, Over: []string{"tp"}, DType: "f64", Outer: 4, Inner: 5, DstOuter: 2, DstInner: 10, Bytes: 160}},
					{Kernel: 1, Bufs: []int{1, 0}},
					{Bufs: []int{0, 1, 2, 9}, Comm: &Comm{Kind: collective.AllReduce, Over: []string{"tp"}, Reduce: "sum", DType: "f32", Outer: 1, Inner: 12, Rest: []View{{1, 12}}, Bytes: 96, Start: true}},
					{Kernel: 0, Bufs: []int{0, 10}},
					{Comm: &Comm{Kind: collective.Done, Of: 4}},
					{Bufs: []int{12, 14}, Comm: &Comm{Kind: collective.HostToDevice, Bytes: 24, Start: true, Why: "offload"}},
					{Kernel: 0, Bufs: []int{0, 10}},
					{Bufs: []int{10, 13}, Comm: &Comm{Kind: collective.DeviceToHost, Bytes: 48}},
					{Comm: &Comm{Kind: collective.Done, Of: 7}},
				}},
				{Name: "blocks", Instrs: []Instr{
					{Kernel: 0, Bufs: []int{15, 16}, Scope: "blocks.{i+1}", Ahead: 1},
					{Bufs: []int{16, 16}, Scope: "blocks.{i+1}", Comm: &Comm{Kind: collective.AllReduce, Over: []string{"tp"}, Reduce: "sum", DType: "f32", Outer: 1, Inner: 12, Bytes: 48, Start: true}},
					{Kernel: 0, Bufs: []int{15, 18}},
					{Comm: &Comm{Kind: collective.Done, Of: 1}},
					{Kernel: 1, Bufs: []int{16, 15}},
				}, Runs: []Run{{Stack: 1, To: 5, Down: true}}},
				{Name: "one", Instrs: []Instr{{Kernel: 0, Bufs: []int{0, 10}}, {Kernel: 0, Bufs: []int{15, 18}}}, Runs: []Run{{Stack: 1, From: 1, To: 2}}},
				{Name: "tasks", Micro: 4, Instrs: []Instr{
					{Kernel: 0, Bufs: []int{0, 10}},
					{Kernel: 0, Bufs: []int{10, 19}},
					{Kernel: 0, Bufs: []int{15, 18}, Scope: "blocks.{i}"},
					{Kernel: 2, Bufs: []int{21, 19, 21}, First: &First{Kernel: 1, Without: []int{0}}},
					{Kernel: 1, Bufs: []int{21, 2}},
				}, Runs: []Run{{Stack: 1, From: 2, To: 3}},
					Tasks: []Task{{"before", 0, 1, true}, {"forward", 1, 3, false}, {"backward", 3, 4, false}, {"after", 4, 5, true}},
					Ticks: ticks(0, 0, 1, 0, 1, 1, 2, 0, 1, 2, 2, 1, 1, 3, 2, 2, 2, 3, 3, 0)},
				{Name: "launches", Instrs: []Instr{
					{Kernel: 0, Bufs: []int{0, 10}},
					{Kernel: 0, Bufs: []int{0, 2}, NoWait: true, With: true},
					{Kernel: 1, Bufs: []int{2, 15}, Scope: "blocks.{i+1}"},
				}, Runs: []Run{{Stack: 1, From: 2, To: 3, Together: true}}},
			},
			Stacks: []Stack{{"blocks", 4}},
		}},
		Data: Data{Kind: "text", Options: []KV{{"", "${GOROOT}/src/**/*.go"}, {"window", "8"}}, Steps: 100, Epochs: 3, EvalEvery: 25,
			Averages: []Average{
				{Rows: 1, Terms: []AverageTerm{{Sum: "loss.sum", Weight: "loss.weight", Floor: 1}, {Sum: "loss.weight", Related: "m.ptl:1:1"}}},
				{Name: "f", Stat: "metrics.f", Rows: 2, Terms: []AverageTerm{{Weight: "loss.weight", Plus: 1e-8, Zero: true}}}},
			Stop: &Stop{On: "f", Most: true, Patience: 3, Least: 0.5}},
		Passes:  []string{"simplify", "autodiff"},
		Remarks: []Remark{{"memory", "m.ptl:1:1", "block.0", "a remark"}},
		Refined: []KV{{"tp", "model"}},
		Names: []Names{{Family: "llama", Format: "hf", Architecture: "LlamaForCausalLM", Prefix: "model.", Skip: []string{"h.{i}.bias"}, Refuse: "a window", PlusOne: "norm.weight",
			Tensors: []Named{{Name: "q", Over: 1, Pieces: []Piece{
				{Param: "w", From: []int64{1, 0}, Extent: []int64{2, 3}, View: []int64{2, 3}, Order: []int64{1, 0}, Shape: []int64{3, 2}},
				{Param: "w", From: []int64{0, 0}, Extent: []int64{1, 3}, View: []int64{3}, Order: []int64{0}, Shape: []int64{3, 1}}}}},
			Keys: []Key{{Names: []string{"rope.base", "base"}, Value: "1.5", Default: true}}}},
		Schedules: []KV{{"0123456789abcdef0123456789abcdef", "rows=96 dot=fma(6x16x1)"}},
		Stats:     Stats{OpsBeforeFusion: 9, FlopsPerStep: 12, TokensPerStep: 8, ModelFlops: 10},
	}
}

// products is a kernel that is two products: of matrices that lie between those of the batch, and of
// one that is transposed.
func products() Kernel {
	return Kernel{Name: "products.3", Class: "horizontal", Symbol: "k3", Tasks: 1,
		Args: []Arg{{Bytes: 192}, {Bytes: 96}, {Bytes: 64}, {Bytes: 160, Write: true}, {Bytes: 64, Write: true}},
		Products: []Product{
			{Batch: 2, M: 4, N: 5, K: 3, Left: Matrices{Arg: 0, DType: "f32", Row: 6, Batch: 3}, Right: Matrices{Arg: 1, DType: "f32", Offset: 4, Row: 5},
				Out: Matrices{Arg: 3, DType: "f32", Row: 10, Batch: 5}, Bias: &Matrices{Arg: 2, DType: "f32", Row: 5}},
			{Batch: 1, M: 4, N: 4, K: 6, Left: Matrices{Arg: 0, DType: "bf16", Row: 6, Transposed: false}, Right: Matrices{Arg: 1, DType: "bf16", Row: 6, Transposed: true},
				Out: Matrices{Arg: 4, DType: "f32", Row: 4}, Add: &Matrices{Arg: 2, DType: "f32", Row: 4}},
		}}
}

// ticks are those of tasks and microbatches in pairs.
func ticks(pairs ...int) (out []Tick) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, Tick{Task: pairs[i], Micro: pairs[i+1]})
	}
	return out
}
