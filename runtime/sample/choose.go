package sample

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"ptc/internal/philox"
)

// Choice says how a token is chosen by its logit. The zero Choice is the largest one,
// of equal ones the first.
type Choice struct {
	// Temperature divides the logits before the softmax; 0: the largest is taken.
	Temperature float64
	// TopK keeps the K largest; 0 all. TopP keeps the largest whose probabilities
	// together are at least P; 0 all. Holtzman et al., "The curious case of neural
	// text degeneration" (2020), section 3.1.
	TopK int
	TopP float64
	Seed uint64
}

// stream is where the random numbers of a prompt come from: they are the same in
// whatever batch it is.
type stream struct {
	key    [2]uint32
	prompt [2]uint32
	copies uint32 // prompts before it that are the same
}

func newStream(seed uint64, prompt []int32, copies int) stream {
	text := make([]byte, 0, 4*len(prompt))
	for _, id := range prompt {
		text = binary.LittleEndian.AppendUint32(text, uint32(id))
	}
	sum := sha256.Sum256(text)
	return stream{
		key:    [2]uint32{uint32(seed), uint32(seed >> 32)},
		prompt: [2]uint32{binary.LittleEndian.Uint32(sum[:]), binary.LittleEndian.Uint32(sum[4:])},
		copies: uint32(copies),
	}
}

// uniform is a number from 0 to below 1 for a position, of 53 bits.
func (s stream) uniform(position int) float64 {
	b := philox.Block([4]uint32{uint32(position), s.copies, s.prompt[0], s.prompt[1]}, s.key)
	return float64(uint64(b[0])<<21|uint64(b[1])>>11) / (1 << 53)
}

// candidate is a token with its weight.
type candidate struct {
	id     int32
	logit  float64
	weight float64
}

// choose is the token at a position; room is used again.
func (c *Choice) choose(logits []float64, s stream, position int, room *[]candidate) int32 {
	if c.Temperature == 0 {
		return largest(logits)
	}
	all := (*room)[:0]
	for i, x := range logits {
		all = append(all, candidate{id: int32(i), logit: x})
	}
	*room = all
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.logit, a.logit), cmp.Compare(a.id, b.id))
	})
	if c.TopK > 0 && c.TopK < len(all) {
		all = all[:c.TopK]
	}
	sum := weigh(all, c.Temperature)
	if c.TopP > 0 && c.TopP < 1 {
		kept := 0.0
		for i := range all {
			if kept += all[i].weight; kept >= c.TopP*sum {
				all, sum = all[:i+1], kept
				break
			}
		}
	}
	at := s.uniform(position) * sum
	for i := range all {
		if at -= all[i].weight; at < 0 {
			return all[i].id
		}
	}
	return all[0].id // rounding left nothing
}

// weigh gives each its probability, up to their sum.
func weigh(all []candidate, temperature float64) (sum float64) {
	for i := range all {
		all[i].weight = math.Exp((all[i].logit - all[0].logit) / temperature)
		sum += all[i].weight
	}
	return sum
}

func largest(logits []float64) int32 {
	best := 0
	for i, x := range logits {
		if x > logits[best] {
			best = i
		}
	}
	return int32(best)
}
