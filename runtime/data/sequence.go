package data

import "slices"

// Sequence is a source whose examples have an order of their own, and an end:
// that of the files. An evaluation goes through all of them once.
type Sequence interface {
	Source

	// At fills row r of the global batch with the example of number
	// examples[r], from 0 in the order of the files; a number may repeat, so that the last batch can be filled.
	// There are as many numbers as the batch has rows.
	At(examples []int64, dst []View) error
}

// Sequential opens a source with nothing held out and nothing shuffled: step s
// has the examples from (s-1) times the batch on. A window of n tokens of a
// sequence of N is one of (N-1)/n. A source without an order of its own, such as
// one of random numbers or a mixture, is an error.
func Sequential(kind string, opts []Option, b Batch) (Sequence, error) {
	opts = slices.DeleteFunc(slices.Clone(opts), func(o Option) bool { return o.Key == "valid" || o.Key == "shuffle" })
	if kind != "synthetic" && kind != "mix" {
		opts = append(opts, Option{"valid", "0"}, Option{"shuffle", "false"})
	}
	if OneReader(kind) {
		return nil, noOrder(kind)
	}
	src, err := Open(kind, opts, b)
	if err != nil {
		return nil, err
	}
	s, ok := src.(Sequence)
	if !ok {
		return nil, noOrder(kind)
	}
	return s, nil
}

func noOrder(kind string) error {
	return &Error{Kind: kind, Msg: "examples of this source have no order and no end", Hint: "name token or text files"}
}
