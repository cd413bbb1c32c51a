package collective

import "ptc/internal/wide"

// Sent is how many bytes a device sends for a collective of this kind over n devices, each with an
// operand of so many bytes, by algorithms that send the fewest: of a tensor of S bytes
// (n−1)/n · S for reduce_scatter, all_gather and all_to_all, and twice that for all_reduce, which is the
// first two. Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations" (2009),
// theorem 1; Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH"
// (2005), section 4. In a permute a device sends its operand to another one: the devices that send the
// most count.
func Sent[S ~string](kind S, operand, n int64) int64 {
	switch s := Of(kind); {
	case !s.Sends:
		return 0
	case s.Scatters:
		return others(operand, n)
	case s.Gathers:
		return wide.Mul(operand, n-1)
	case s.Reduces:
		return wide.Mul(2, others(operand, n))
	}
	return operand
}

// others is the share of bytes that is not a device's own, of n devices.
func others(bytes, n int64) int64 { return bytes - bytes/max(n, 1) }

// Payload is the size that plans and reports give a communication over n devices, each with an operand
// of so many bytes: of an all_gather the gathered result, of an all_to_all the bytes that leave the
// device, of the others that send anything the operand.
func Payload[S ~string](kind S, operand, n int64) int64 {
	switch s := Of(kind); {
	case !s.Sends:
		return 0
	case s.Scatters && s.Gathers:
		return operand / n * (n - 1)
	case s.Gathers:
		return wide.Mul(operand, n)
	}
	return operand
}

// SentOf is [Sent] by the payload instead of the operand.
func SentOf[S ~string](kind S, payload, n int64) int64 {
	switch s := Of(kind); {
	case s.Scatters && s.Gathers:
		return payload
	case s.Gathers:
		return others(payload, n)
	}
	return Sent(kind, payload, n)
}
