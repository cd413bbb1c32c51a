package exec

import (
	"ptc/internal/dtype"
	"ptc/runtime/program"
)

// Tensor describes a whole tensor that lives between steps, or a gradient.
type Tensor struct {
	Path  string      // blocks.3.attn.wq, or blocks.3.attn.wq/m for state
	DType dtype.DType // of its elements
	Axes  []string    // names
	Shape []int       // of the whole tensor
	Train bool        // a parameter that the optimizer updates
	State bool        // state of the optimizer
	Of    string      // of a state that is a copy of a parameter in more bits: its path
}

// Elems is the number of elements of the whole tensor.
func (t *Tensor) Elems() int { return product(t.Shape) }

// Bytes is the size of the whole tensor.
func (t *Tensor) Bytes() int { return t.Elems() * t.DType.Size() }

// Box says what one device holds of a tensor: [Lo, Hi) of the whole, row-major.
type Box struct {
	Rank   int
	Lo, Hi []int
}

// Slice is a box with its bytes.
type Slice struct {
	Box
	Bytes []byte
}

func tensorOf(path string, b *program.Buffer) Tensor {
	d, _ := dtype.Parse(b.DType) // the plan was validated
	t := Tensor{Path: path, DType: d, Axes: []string{}, Shape: []int{}, State: b.Space == program.Optimizer}
	for _, a := range b.Axes {
		t.Axes = append(t.Axes, a.Name)
		t.Shape = append(t.Shape, a.Global)
	}
	return t
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
