package tensor

import "ptc/ir"

// Tensor is a dense tensor. Booleans are 0 and 1; integers are exact, as every
// i32 is a float64.
type Tensor struct {
	Type ir.Type
	Data []float64 // row-major over Type.Axes
}

// New is a tensor of zeros.
func New(t ir.Type) *Tensor {
	return &Tensor{Type: t, Data: make([]float64, t.Elems())}
}

// Scalar is a tensor without axes.
func Scalar(d ir.DType, v float64) *Tensor {
	return &Tensor{Type: ir.Scalar(d), Data: []float64{v}}
}

// Round rounds every element to the tensor's dtype (nearest even for floats,
// as a store of that dtype would) and returns the tensor.
func (t *Tensor) Round() *Tensor {
	t.Type.DType.Round(t.Data)
	return t
}
