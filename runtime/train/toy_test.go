package train

import (
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"

	"ptc/runtime/device"
	"ptc/runtime/device/host"
	"ptc/runtime/program"
)

// The tests train y ≈ x·w + b with momentum, by kernels written in Go that run
// in a plan as any others do.

func init() {
	host.Register("test", func(r device.Request, arena []byte) (host.Kernels, error) {
		return &toyKernelsOf{Request: r, arena: arena}, nil
	})
}

// afterStep is called after each step of any toy plan, with its number.
var afterStep atomic.Pointer[func(step int32)]

// afterKernel is called after each kernel of any toy plan, with its symbol and
// its arguments, which it may change.
var afterKernel atomic.Pointer[func(symbol string, rank int, a [][]float32)]

type toyKernelsOf struct {
	device.Request
	arena []byte
	args  [8][]float32
}

func (e *toyKernelsOf) Close() {}

func (e *toyKernelsOf) Replay(prog, from, to int) error {
	for _, in := range e.Device.Progs[prog].Instrs[from:to] {
		k := &e.Plan.Kernels[in.Kernel]
		for i, b := range in.Bufs {
			buf := &e.Device.Buffers[b]
			e.args[i] = unsafe.Slice((*float32)(unsafe.Pointer(&e.arena[buf.Offset])), buf.Bytes/4)
		}
		toyKernels[k.Symbol](e.args[:len(in.Bufs)])
		if f := afterKernel.Load(); f != nil {
			(*f)(k.Symbol, e.Rank, e.args[:len(in.Bufs)])
		}
	}
	return nil
}

const (
	toyBatch, toyFrom, toyTo = 4, 3, 2
	toyMomentum              = 0.9
)

func asInt(x []float32) int32 { return int32(math.Float32bits(x[0])) }

// toyKernels by symbol. What is written comes last.
var toyKernels = map[string]func(a [][]float32){
	// x y w b → r loss: r = x·w + b − y, loss = mean of r².
	"residual": func(a [][]float32) {
		x, y, w, b, r := a[0], a[1], a[2], a[3], a[4]
		to, sum := len(b), float32(0)
		batch := len(r) / to
		for i := range batch {
			for j := range to {
				v := b[j] - y[i*to+j]
				for k := range toyFrom {
					v += x[i*toyFrom+k] * w[k*to+j]
				}
				r[i*to+j] = v
				sum += v * v
			}
		}
		a[5][0] = sum / float32(batch*toyTo)
	},
	// x r step seed → g norm: the gradient of w, with noise that step and seed give.
	"grad_w": func(a [][]float32) {
		x, r, g, norm := a[0], a[1], a[4], float32(0)
		to := len(g) / toyFrom
		batch := len(r) / to
		noise := float32(uint32(asInt(a[2])*7919+asInt(a[3])*104729)%1000) * 1e-5
		for k := range toyFrom {
			for j := range to {
				v := noise
				for i := range batch {
					v += x[i*toyFrom+k] * r[i*to+j] * 2 / float32(batch*toyTo)
				}
				g[k*to+j] = v
				norm += v * v
			}
		}
		a[5][0] = norm
	},
	// r norm → g norm: the gradient of b.
	"grad_b": func(a [][]float32) {
		r, g := a[0], a[1]
		norm := a[2][0]
		batch := len(r) / len(g)
		for j := range g {
			v := float32(0)
			for i := range batch {
				v += r[i*len(g)+j] * 2 / float32(batch*toyTo)
			}
			g[j] = v
			norm += v * v
		}
		a[2][0] = float32(math.Sqrt(float64(norm)))
	},
	// g step → w m lr: m = momentum·m + g, w = w − lr·m.
	"update": func(a [][]float32) {
		g, w, m := a[0], a[2], a[3]
		lr := 0.1 / (1 + 0.01*float32(asInt(a[1])))
		for i := range w {
			m[i] = toyMomentum*m[i] + g[i]
			w[i] -= lr * m[i]
		}
		a[4][0] = lr
	},
	// step → : tells the test.
	"after": func(a [][]float32) {
		if f := afterStep.Load(); f != nil {
			(*f)(asInt(a[0]))
		}
	},
}

// toyPlan builds the plan buffer by buffer.
type toyPlan struct {
	program.Plan
	dev   *program.Device
	names map[string]int
}

func (t *toyPlan) buffer(name string, space program.Space, dtype string, axes ...program.Axis) {
	n := int64(4)
	for _, a := range axes {
		n *= int64(a.Size)
	}
	t.names[name] = len(t.dev.Buffers)
	t.dev.Buffers = append(t.dev.Buffers, program.Buffer{Space: space, Offset: t.dev.Arena, Bytes: n, DType: dtype, Axes: axes})
	t.dev.Arena += (n + 63) &^ 63
}

// alias is another buffer in the place of one.
func (t *toyPlan) alias(name, of string, axes ...program.Axis) {
	b := t.dev.Buffers[t.names[of]]
	b.Axes = axes
	b.Bytes = 4
	for _, a := range axes {
		b.Bytes *= int64(a.Size)
	}
	t.names[name] = len(t.dev.Buffers)
	t.dev.Buffers = append(t.dev.Buffers, b)
}

func (t *toyPlan) tensor(path string, init program.Init) {
	t.dev.Tensors = append(t.dev.Tensors, program.Tensor{Path: path, Buffer: t.names[path], Init: init, Train: true})
}

// call adds an instruction, and a kernel of its own: the last writes of the
// names are what it writes.
func (t *toyPlan) call(prog *program.Program, symbol string, writes int, names ...string) {
	k := program.Kernel{Name: symbol, Class: "map", Symbol: symbol, Tasks: 1}
	in := program.Instr{Kernel: len(t.Kernels), Scope: symbol}
	for i, n := range names {
		k.Args = append(k.Args, program.Arg{Bytes: t.dev.Buffers[t.names[n]].Bytes, Write: i >= len(names)-writes})
		in.Bufs = append(in.Bufs, t.names[n])
	}
	t.Kernels = append(t.Kernels, k)
	prog.Instrs = append(prog.Instrs, in)
}

func (t *toyPlan) port(prog, role, path, name string, after int) {
	t.dev.Ports = append(t.dev.Ports, program.Port{Program: prog, Role: role, Path: path, Buffer: t.names[name], After: after})
}

func axis(name string, n int) program.Axis { return program.Axis{Name: name, Size: n, Global: n} }

// newToy is a plan to be run for 20 steps on synthetic data.
func newToy() *program.Plan { return newToyOn(1) }

// newToyOn cuts the columns of the toy over devices, which need nothing of each
// other. What is reported is then of the first device alone.
func newToyOn(devices int) *program.Plan { return newToyOf(devices, toyBatch) }

// newToyOf is a toy with batches of a size.
func newToyOf(devices, size int) *program.Plan {
	t := &toyPlan{names: map[string]int{}}
	t.Name, t.Layout, t.Target = "Toy", "single", "test"
	t.Sources = []program.Source{{Name: "toy.ptl", Text: "model Toy { }"}}
	t.Config = []program.KV{{Key: "batch", Value: fmt.Sprint(size)}, {Key: "seed", Value: "7"}}
	t.Code = []program.Code{{Kind: "test", Data: []byte("go")}}
	t.Data = program.Data{Kind: "synthetic", Steps: 20}
	t.Stats = program.Stats{OpsBeforeFusion: 9, FlopsPerStep: 1000, TokensPerStep: int64(size)}
	t.Devices = []program.Device{{}}
	t.dev = &t.Devices[0]

	batch, from, to := axis("batch", size), axis("from", toyFrom), axis("to", toyTo)
	if devices > 1 {
		t.Mesh = []program.MeshAxis{{Name: "tp", Size: devices}}
		to.Size, to.Mesh = toyTo/devices, []string{"tp"}
	}
	t.buffer("x", program.Inputs, "f32", batch, from)
	t.buffer("y", program.Inputs, "f32", batch, to)
	t.buffer("step", program.Inputs, "i32")
	t.buffer("seed", program.Inputs, "i32")
	t.buffer("w", program.Params, "f32", from, to)
	t.buffer("b", program.Params, "f32", to)
	t.buffer("w/m", program.Optimizer, "f32", from, to)
	t.buffer("b/m", program.Optimizer, "f32", to)
	t.buffer("r", program.Activations, "f32", batch, to)
	t.buffer("loss", program.Activations, "f32")
	t.buffer("norm", program.Activations, "f32")
	t.buffer("lr", program.Activations, "f32")
	t.buffer("gw", program.Grads, "f32", from, to)
	t.alias("gb", "gw", to) // takes the place of gw when that has been used

	normal := program.Init{Kind: "normal", Args: []program.KV{{Key: "std", Value: "0.5"}}}
	zeros := program.Init{Kind: "zeros"}
	t.tensor("w", normal)
	t.tensor("b", zeros)
	t.tensor("w/m", zeros)
	t.tensor("b/m", zeros)

	step, eval := program.Program{Name: "step"}, program.Program{Name: "eval"}
	t.call(&step, "residual", 2, "x", "y", "w", "b", "r", "loss")
	t.call(&step, "grad_w", 2, "x", "r", "step", "seed", "gw", "norm")
	t.call(&step, "update", 3, "gw", "step", "w", "w/m", "lr")
	t.call(&step, "grad_b", 2, "r", "gb", "norm")
	t.call(&step, "update", 3, "gb", "step", "b", "b/m", "lr")
	t.call(&step, "after", 0, "step")
	t.call(&eval, "residual", 2, "x", "y", "w", "b", "r", "loss")
	t.dev.Progs = []program.Program{step, eval}

	for _, prog := range []string{"step", "eval"} {
		t.port(prog, program.RoleData, "x", "x", 0)
		t.port(prog, program.RoleData, "y", "y", 0)
		t.port(prog, program.RoleLoss, "", "loss", 0)
	}
	t.port("step", program.RoleStep, "", "step", 0)
	t.port("step", program.RoleSeed, "", "seed", 0)
	t.port("step", program.RoleStat, "grad_norm", "norm", 0)
	t.port("step", program.RoleStat, "lr", "lr", 0)
	t.port("step", program.RoleGrad, "w", "gw", 2)
	t.port("step", program.RoleGrad, "b", "gb", 4)
	return &t.Plan
}
