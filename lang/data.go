package lang

import (
	"ptc/ir"
)

// dataSource is where batches come from: the fields of one, and a term of
// metadata with the kind of reader and its options.
type dataSource struct {
	fields []field
	term   ir.Term
}

// field is one tensor of a batch; its first axis is the batch.
type field struct {
	name string
	typ  ir.Type
}
