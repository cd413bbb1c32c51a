package collective

import (
	"slices"

	"ptc/internal/wide"
)

// Algorithm is one way to do a collective among n devices, each with an operand of so many bytes. Its cost
// is α for each message of the longest chain, β for each byte that a device sends, and γ for each byte that
// a device reduces (Thakur, Rabenseifner, Gropp 2005, section 3). A new one is a row of [Algorithms], and
// its messages in the transports that have it.
type Algorithm struct {
	Name    string
	Kinds   []Kind
	Steps   int64 // messages of the longest chain
	Sent    func(kind Kind, bytes, n int64) int64
	Reduced func(kind Kind, bytes, n int64) int64
}

// Link has α, β and γ of a transport, in picoseconds a message and a byte.
type Link struct{ Message, Sent, Reduced int64 }

// Names of algorithms, by which transports find what they do.
const (
	Whole   = "whole"    // everyone sends its operand to everyone, and reduces all
	Direct  = "direct"   // everyone sends each member its slice
	TwoStep = "two_step" // a direct reduce_scatter, then a direct all_gather
)

// Algorithms are the algorithms of all kinds. Of equal cost the first one is chosen.
var Algorithms = []Algorithm{
	{Whole, []Kind{AllReduce}, 1, toEveryone, toEveryone},
	{TwoStep, []Kind{AllReduce}, 2, Sent[Kind], ownSlice},
	{Direct, []Kind{ReduceScatter, AllGather, AllToAll}, 1, Sent[Kind], ownSlice},
}

func toEveryone(_ Kind, bytes, n int64) int64 { return wide.Mul(bytes, n-1) }

// ownSlice is what a device reduces that has one slice of the result.
func ownSlice(kind Kind, bytes, n int64) int64 {
	if !Of(kind).Reduces {
		return 0
	}
	return others(bytes, n)
}

// Cost is how long a collective takes on a link, in picoseconds.
func (a *Algorithm) Cost(kind Kind, bytes, n int64, l Link) int64 {
	t := wide.Add(wide.Mul(l.Message, a.Steps), wide.Mul(l.Sent, a.Sent(kind, bytes, n)))
	return wide.Add(t, wide.Mul(l.Reduced, a.Reduced(kind, bytes, n)))
}

// Cheapest is the algorithm of a kind that costs least on a link, among those that the transport has, or
// nil if it has none for this kind.
func Cheapest(kind Kind, bytes, n int64, l Link, has func(name string) bool) *Algorithm {
	var best *Algorithm
	for i := range Algorithms {
		a := &Algorithms[i]
		if slices.Contains(a.Kinds, kind) && has(a.Name) && (best == nil || a.Cost(kind, bytes, n, l) < best.Cost(kind, bytes, n, l)) {
			best = a
		}
	}
	return best
}
