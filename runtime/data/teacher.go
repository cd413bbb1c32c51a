package data

import "math"

// maxHidden bounds a teacher's hidden units, so that they live on the stack of
// whoever fills.
const maxHidden = 256

// maxTeacher bounds the weights of each matrix of a teacher.
const maxTeacher = 1 << 26

// teacher is a fixed function for a model to learn: y = W2 tanh(W1 x + b), with
// normal weights scaled by 1/sqrt(fan-in), so that y is of order 1.
type teacher struct {
	inputs, hidden int
	w1             []float64 // [hidden, inputs]
	b              []float64 // [hidden]
	w2             []float64 // [outputs, hidden]
}

func newTeacher(seed uint64, inputs, hidden, outputs int) *teacher {
	s := newStream(seed, streamTeacher)
	draw := func(matrix int64, n, fanIn int) []float64 {
		w := make([]float64, n)
		for i := range w {
			w[i] = s.normal(matrix, i) / math.Sqrt(float64(fanIn))
		}
		return w
	}
	return &teacher{
		inputs: inputs, hidden: hidden,
		w1: draw(0, hidden*inputs, inputs),
		b:  draw(1, hidden, 1),
		w2: draw(2, outputs*hidden, hidden),
	}
}

// inputAt is element i of x in a row.
func inputAt(s stream, row int64, i int) float32 { return float32(s.normal(row, i)) }

// activate computes the hidden units for a row of x.
func (t *teacher) activate(h *[maxHidden]float64, s stream, row int64) {
	copy(h[:], t.b)
	for i := range t.inputs {
		x := float64(inputAt(s, row, i)) // as the model sees it
		for j := range t.hidden {
			h[j] += t.w1[j*t.inputs+i] * x
		}
	}
	for j := range t.hidden {
		h[j] = math.Tanh(h[j])
	}
}

func (t *teacher) output(h *[maxHidden]float64, o int) float64 {
	y := 0.0
	for j, w := range t.w2[o*t.hidden : (o+1)*t.hidden] {
		y += w * h[j]
	}
	return y
}
