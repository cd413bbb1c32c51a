package emu

import (
	"math/big"
)

// slowFMA is a·b + c by exact arithmetic.
func slowFMA(a, b, c float32) float32 {
	x := new(big.Float).SetPrec(600).SetFloat64(float64(a))
	x.Mul(x, new(big.Float).SetFloat64(float64(b)))
	x.Add(x, new(big.Float).SetFloat64(float64(c)))
	out, _ := x.Float32()
	return out
}
