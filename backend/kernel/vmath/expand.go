package vmath

import (
	"fmt"
	"slices"

	"ptc/backend/kernel"
)

var functions []*kernel.Math

// unaryMath registers a function: its exact value, and its expansion.
func unaryMath(name string, exact func(x float64) float64, expand func(b builder, x *kernel.Value) *kernel.Value) *kernel.Math {
	return register(&kernel.Math{Name: name, Args: 1, Exact: func(x, _ float64) float64 { return exact(x) },
		Expand: func(b *kernel.Builder, a []*kernel.Value) *kernel.Value { return expand(builder{b, a[0].Type}, a[0]) }})
}

// binaryMath registers a function of two operands.
func binaryMath(name string, exact func(x, y float64) float64, expand func(b builder, x, y *kernel.Value) *kernel.Value) *kernel.Math {
	return register(&kernel.Math{Name: name, Args: 2, Exact: exact,
		Expand: func(b *kernel.Builder, a []*kernel.Value) *kernel.Value {
			return expand(builder{b, a[0].Type}, a[0], a[1])
		}})
}

func register(m *kernel.Math) *kernel.Math {
	functions = append(functions, m)
	return m
}

// All are the functions.
func All() []*kernel.Math { return functions }

// Lookup is the function called name, or nil.
func Lookup(name string) *kernel.Math {
	for _, m := range functions {
		if m.Name == name {
			return m
		}
	}
	return nil
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
		if s.Math != nil {
			return s.Math.Expand(b, args)
		}
		return nil
	})
}

func calls(b *kernel.Block) bool {
	return b != nil && slices.ContainsFunc(b.Stmts, func(s *kernel.Stmt) bool {
		return s.Math != nil || calls(s.Then) || calls(s.Else) || s.Loop != nil && calls(s.Loop.Body)
	})
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
