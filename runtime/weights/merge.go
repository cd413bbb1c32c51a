package weights

import (
	"fmt"
	"slices"
	"strings"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/program"
)

// Merged is a source whose parameters have their adapters added: w + scale · down · up,
// each sum in 64 bits and then rounded once to the parameter's type. What has no adapter in
// src is as it is there.
func Merged(src Source, plan *program.Plan) (Source, error) {
	p, err := plan.Expanded()
	if err != nil {
		return nil, err
	}
	m := &merged{src: src, adapters: adapters(p)}
	for path := range m.adapters {
		if src.Describe(path+program.AdapterDown) == nil {
			delete(m.adapters, path)
		}
	}
	return m, nil
}

// adapters are those of a plan, without repetitions, by the path of their parameter.
func adapters(p *program.Plan) map[string]*adapter {
	axes, shapes := map[string][]string{}, map[string][]int64{}
	for i := range p.Devices {
		d := &p.Devices[i]
		for _, t := range d.Tensors {
			var names []string
			var shape []int64
			for _, a := range d.Buffers[t.Buffer].Axes {
				names, shape = append(names, a.Name), append(shape, int64(a.Global))
			}
			axes[t.Path], shapes[t.Path] = names, shape
		}
	}
	out := map[string]*adapter{}
	for path, base := range axes {
		down, up := axes[path+program.AdapterDown], axes[path+program.AdapterUp]
		rule := p.Adapters.Of(path)
		if rule == nil || down == nil || up == nil {
			continue
		}
		out[path] = &adapter{base: base, down: down, up: up, downShape: shapes[path+program.AdapterDown], upShape: shapes[path+program.AdapterUp], scale: rule.Scale}
	}
	return out
}

type merged struct {
	src      Source
	adapters map[string]*adapter
	path     string // of the parameter that was summed last, and its bytes
	sum      []byte
}

// adapter is the names of the axes of a parameter and of the two parts of its adapter, and the
// shapes of these.
type adapter struct {
	base, down, up     []string
	downShape, upShape []int64
	scale              float64
}

func (m *merged) Describe(path string) *safetensors.Tensor { return m.src.Describe(path) }

// ReadSlice reads a slice of a parameter with its adapter.
func (m *merged) ReadSlice(path string, s safetensors.Slice, dst []byte) error {
	a := m.adapters[path]
	if a == nil {
		return m.src.ReadSlice(path, s, dst)
	}
	if m.path != path {
		if err := m.add(path, a); err != nil {
			return err
		}
	}
	return s.Copy(m.src.Describe(path), dst, m.sum)
}

// add sums a parameter and its adapter.
func (m *merged) add(path string, a *adapter) error {
	w, x, err := readWhole(m.src, path, a.base)
	if err != nil {
		return err
	}
	down, d, err := readWhole(m.src, path+program.AdapterDown, a.down)
	if err != nil {
		return err
	}
	up, u, err := readWhole(m.src, path+program.AdapterUp, a.up)
	if err != nil {
		return err
	}
	rank := down.Shape[slices.Index(a.down, "lora_rank")]
	if up.Shape[slices.Index(a.up, "lora_rank")] != rank {
		return fmt.Errorf("the parts of the adapter of %s have %d and other columns", path, rank)
	}
	inDown, stepDown := strides(a.base, a.down, down.Shape)
	inUp, stepUp := strides(a.base, a.up, up.Shape)
	for k, n := range w.Shape {
		for _, part := range []struct {
			axes  []string
			shape []int64
		}{{a.down, down.Shape}, {a.up, up.Shape}} {
			if i := slices.Index(part.axes, a.base[k]); i >= 0 && part.shape[i] != n {
				return fmt.Errorf("the adapter of %s has %d elements along %s, but the parameter has %d", path, part.shape[i], a.base[k], n)
			}
		}
	}
	at := make([]int64, len(w.Shape))
	var i, j int64 // where the row of down and the column of up begin
	for e := range x {
		sum := 0.0
		for r := range rank {
			sum += d[i+r*stepDown] * u[j+r*stepUp]
		}
		x[e] += a.scale * sum
		for k := len(at) - 1; k >= 0; k-- {
			at[k]++
			i, j = i+inDown[k], j+inUp[k]
			if at[k] < w.Shape[k] {
				break
			}
			i, j = i-at[k]*inDown[k], j-at[k]*inUp[k]
			at[k] = 0
		}
	}
	m.path, m.sum = path, make([]byte, dtype.Bytes(w.DType, len(x)))
	w.DType.Encode(m.sum, x)
	return nil
}

// readWhole is a whole tensor, which must have the axes that the plan says.
func readWhole(src Source, path string, axes []string) (*safetensors.Tensor, []float64, error) {
	t := src.Describe(path)
	if t == nil {
		return nil, nil, fmt.Errorf("the parameter %s is missing: an adapter needs it", path)
	}
	if len(t.Shape) != len(axes) || !t.DType.IsFloat() {
		return nil, nil, fmt.Errorf("%s is %s%v, but the plan has it with the axes %s", path, t.DType.Safetensors(), t.Shape, strings.Join(axes, ", "))
	}
	raw := make([]byte, t.Bytes())
	if err := src.ReadSlice(path, safetensors.Slice{}, raw); err != nil {
		return nil, nil, err
	}
	x := make([]float64, dtype.Elems(t.DType, len(raw)))
	t.DType.Decode(x, raw)
	return t, x, nil
}

// strides are, for each axis of a parameter, how many elements a part of its adapter
// goes on along it, 0 where the part has no such axis, and along lora_rank.
func strides(base, part []string, shape []int64) (along []int64, rank int64) {
	along = make([]int64, len(base))
	n := int64(1)
	for i := len(part) - 1; i >= 0; i-- {
		if k := slices.Index(base, part[i]); k >= 0 {
			along[k] = n
		} else {
			rank = n
		}
		n *= shape[i]
	}
	return along, rank
}
