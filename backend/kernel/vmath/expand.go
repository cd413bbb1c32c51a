package vmath

import (
	"fmt"

	"ptc/backend/kernel"
)

// expansion computes one math call on f32 operands.
type expansion func(b builder, a []*kernel.Value) *kernel.Value

var expansions = map[kernel.Op]expansion{
	kernel.OpExp:     func(b builder, a []*kernel.Value) *kernel.Value { return b.exp(a[0]) },
	kernel.OpLog:     func(b builder, a []*kernel.Value) *kernel.Value { return b.log(a[0]) },
	kernel.OpTanh:    func(b builder, a []*kernel.Value) *kernel.Value { return b.tanh(a[0]) },
	kernel.OpErf:     func(b builder, a []*kernel.Value) *kernel.Value { return b.erf(a[0]) },
	kernel.OpRsqrt:   func(b builder, a []*kernel.Value) *kernel.Value { return b.rsqrt(a[0]) },
	kernel.OpSigmoid: func(b builder, a []*kernel.Value) *kernel.Value { return b.sigmoid(a[0]) },
	kernel.OpSin:     func(b builder, a []*kernel.Value) *kernel.Value { return b.sine(a[0], 0) },
	kernel.OpCos:     func(b builder, a []*kernel.Value) *kernel.Value { return b.sine(a[0], 1) },
	kernel.OpPow:     func(b builder, a []*kernel.Value) *kernel.Value { return b.pow(a[0], a[1]) },
	kernel.OpMod:     func(b builder, a []*kernel.Value) *kernel.Value { return b.mod(a[0], a[1]) },
}

// Bound is the largest error of every expansion, in units in the last place of
// the exact result; that of mod is 0.
const Bound = 2.0

// Expand replaces the math calls of k. A kernel without any is returned as it
// is.
func Expand(k *kernel.Kernel) (*kernel.Kernel, error) {
	if len(k.Sections) > 0 {
		return nil, fmt.Errorf("kernel %s: sections are expanded one by one", k.Name)
	}
	if !calls(k.Body) {
		return k, nil
	}
	return kernel.Rewrite(k, func(b *kernel.Builder, s *kernel.Stmt, args []*kernel.Value) *kernel.Value {
		if e := expansions[s.Op]; e != nil {
			return e(builder{b, s.Result().Type}, args)
		}
		return nil
	})
}

// Call appends the expansion of s, a math call whose operands are in b, and gives its
// result.
func Call(b *kernel.Builder, s *kernel.Stmt) *kernel.Value {
	return expansions[s.Op](builder{b, s.Result().Type}, s.Args)
}

func calls(b *kernel.Block) bool {
	if b == nil {
		return false
	}
	for _, s := range b.Stmts {
		if s.Op.IsMath() || calls(s.Then) || calls(s.Else) || s.Loop != nil && calls(s.Loop.Body) {
			return true
		}
	}
	return false
}

// builder makes constants of the call's lanes.
type builder struct {
	*kernel.Builder
	t kernel.Type // f32, of the call's lanes
}

func (b builder) f(c float64) *kernel.Value { return b.Const(b.t, c) }

func (b builder) i(c int64) *kernel.Value { return b.ConstInt(b.t.With(kernel.I32), c) }

func (b builder) d(c float64) *kernel.Value { return b.Const(b.t.With(kernel.F64), c) }

func (b builder) bits(x *kernel.Value) *kernel.Value { return b.Bitcast(x, kernel.I32) }

func (b builder) float(x *kernel.Value) *kernel.Value { return b.Bitcast(x, kernel.F32) }

// poly is c[0] + c[1]·x + c[2]·x² + … by Horner's rule.
func (b builder) poly(x *kernel.Value, c []float64) *kernel.Value {
	y := b.f(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		y = b.FMA(y, x, b.f(c[i]))
	}
	return y
}

// nearest is x·scale rounded to the nearest integer, as a float and as an i32,
// for results below 2^22: adding 3·2^22 leaves the integer in the low bits.
func (b builder) nearest(x *kernel.Value, scale float64) (n, integer *kernel.Value) {
	const magic = 3 << 22
	t := b.FMA(x, b.f(scale), b.f(magic))
	return b.Sub(t, b.f(magic)), b.Sub(b.bits(t), b.bits(b.f(magic)))
}

// copySign is the magnitude of x with the sign of s; x must not be negative.
func (b builder) copySign(x, s *kernel.Value) *kernel.Value {
	return b.float(b.Or(b.bits(x), b.And(b.bits(s), b.i(-1<<31))))
}
