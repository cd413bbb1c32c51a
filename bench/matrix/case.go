package matrix

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"ptc/compiler"
	"ptc/internal/dtype"
	"ptc/runtime/exec"
	"ptc/runtime/program"
)

// Steps is how long a case trains.
const Steps = 5

// timeout is how long a device waits for another. It is long for the sake of
// busy machines; what deadlocks ends with an error nevertheless.
const timeout = 2 * time.Minute

// seed of the parameters, the batches and the dropout.
const seed = 7

// Run is what a case computed. Tensors are whole, by path.
type Run struct {
	Devices int
	Losses  []float64
	Grads   map[string][]float64 // of the first step
	Params  map[string][]float64 // after the last
	States  map[string][]float64 // of the optimizer, after the last
	Valid   []float64            // loss of validation after the last step, on its batch
}

// Compile makes the plan of a case. root is the folder of the module, target as
// the compiler has it; hooks see each pass.
func Compile(root string, m Model, l Layout, target string, hooks ...compiler.Hook) (*program.Plan, error) {
	src, set, err := Text(root, m, l)
	if err != nil {
		return nil, err
	}
	p, _, err := compiler.Compile(compiler.Options{File: m.Name + ".ptl", Source: []byte(src),
		Set: set, Layout: LayoutName, Target: target, Hooks: hooks})
	return p, err
}

// LayoutName is the layout's name in [Text].
const LayoutName = "of_the_matrix"

// Text is the source of a case, with its layout, and the sizes that replace those of its config.
func Text(root string, m Model, l Layout) (src string, set []string, err error) {
	if src, err = m.Source(root); err != nil {
		return "", nil, err
	}
	rules, err := l.Rules(m)
	if err != nil {
		return "", nil, err
	}
	set = append(append(set, m.Set...), strings.Fields(l.Set)...)
	return src + "\nlayout " + LayoutName + " {\n" + rules + "\n}\n", lastOf(set), nil
}

// lastOf keeps the last value of each key.
func lastOf(set []string) (out []string) {
	at := map[string]int{}
	for _, s := range set {
		k, _, _ := strings.Cut(s, "=")
		if i, ok := at[k]; ok {
			out[i] = s
			continue
		}
		at[k] = len(out)
		out = append(out, s)
	}
	return out
}

// Train runs a plan for [Steps] steps on tokens that every example has.
func Train(p *program.Plan) (*Run, error) { return TrainOn(p, Steps, vocabulary) }

// TrainOn runs a plan for so many steps, all of its devices in this process, on
// integers below a bound and normal floats.
func TrainOn(p *program.Plan, steps, below int) (*Run, error) {
	m, err := exec.Open(p, exec.Options{Threads: 1, Timeout: timeout})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if err := m.Initialize(seed); err != nil {
		return nil, err
	}
	step := m.Program("step")
	if step == nil {
		return nil, fmt.Errorf("the plan has no step")
	}
	r := &Run{Devices: p.Mesh.Ranks(), Grads: map[string][]float64{}, Params: map[string][]float64{}, States: map[string][]float64{}}
	for n := range steps {
		m.SetStep(int64(n) + 1)
		m.SetSeed(seed)
		for i, f := range step.Fields() {
			if err := step.Feed(f.Name, batch(f, uint64(n), uint64(i), below)); err != nil {
				return nil, err
			}
		}
		if n == 0 {
			err = r.first(step)
		} else {
			err = step.Run()
		}
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", n+1, err)
		}
		r.Losses = append(r.Losses, step.Loss())
	}
	if err := r.validate(m, uint64(steps-1), below); err != nil {
		return nil, err
	}
	for _, t := range m.Tensors() {
		raw := make([]byte, t.Bytes())
		if err := m.ReadBytes(t.Path, raw); err != nil {
			return nil, err
		}
		into := r.Params
		if t.State {
			into = r.States
		}
		into[t.Path] = floats(t.DType, raw)
	}
	return r, nil
}

// validate runs validation, if the plan has one, on the batch of a step.
func (r *Run) validate(m *exec.Machine, step uint64, below int) error {
	valid := m.Program("eval")
	if valid == nil {
		return nil
	}
	for i, f := range valid.Fields() {
		if err := valid.Feed(f.Name, batch(f, step, uint64(i), below)); err != nil {
			return err
		}
	}
	if err := valid.Run(); err != nil {
		return fmt.Errorf("validation: %w", err)
	}
	r.Valid = append(r.Valid, valid.Loss())
	return nil
}

// first runs the first step and keeps its gradients.
func (r *Run) first(step *exec.Program) error {
	covered := map[string]int{}
	all := step.Gradients()
	for _, g := range all {
		r.Grads[g.Path] = make([]float64, g.Elems())
	}
	err := step.RunWithGradients(func(g exec.Tensor, s exec.Slice) error {
		x := floats(g.DType, s.Bytes)
		covered[g.Path] += len(x)
		return place(r.Grads[g.Path], g.Shape, s.Lo, s.Hi, x)
	})
	if err != nil {
		return err
	}
	for _, g := range all {
		if covered[g.Path] != g.Elems() {
			return fmt.Errorf("the parts of the gradient of %s have %d elements, not %d", g.Path, covered[g.Path], g.Elems())
		}
	}
	return nil
}

// place writes the box [lo, hi) of a row-major whole.
func place(whole []float64, shape, lo, hi []int, box []float64) error {
	at := append([]int(nil), lo...)
	for _, v := range box {
		i := 0
		for k, n := range shape {
			i = i*n + at[k]
		}
		if i >= len(whole) {
			return fmt.Errorf("box %v to %v is outside %v", lo, hi, shape)
		}
		whole[i] = v
		for k := len(at) - 1; k >= 0; k-- {
			if at[k]++; at[k] < hi[k] {
				break
			}
			at[k] = lo[k]
		}
	}
	return nil
}

// vocabulary is what every example's has at least.
const vocabulary = 44

// batch is what a field holds in a step: a stream of its own.
func batch(f exec.Field, step, field uint64, below int) []byte {
	r := rand.New(rand.NewPCG(seed+step, field))
	n := 1
	for _, d := range f.Shape {
		n *= d
	}
	out := make([]byte, 0, 4*n)
	for range n {
		var bits uint32
		if f.DType == dtype.I32 {
			bits = uint32(r.IntN(below))
		} else {
			bits = math.Float32bits(float32(r.NormFloat64()))
		}
		out = binary.LittleEndian.AppendUint32(out, bits)
	}
	return out
}

func floats(d dtype.DType, raw []byte) []float64 {
	out := make([]float64, len(raw)/d.Size())
	d.Decode(out, raw)
	return out
}
