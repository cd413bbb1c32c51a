package random

import "math/rand/v2"

// dice draws from a seed.
type dice struct{ r *rand.Rand }

func newDice(seed uint64) *dice { return &dice{rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))} }

func (d *dice) chance(p float64) bool   { return d.r.Float64() < p }
func (d *dice) below(n int) int         { return d.r.IntN(n) }
func (d *dice) one(of ...string) string { return of[d.r.IntN(len(of))] }
func (d *dice) size(of ...int) int      { return of[d.r.IntN(len(of))] }
func (d *dice) shuffle(names []string) []string {
	d.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}
