package value

import (
	"ptc/ir"
)

// Data is where batches come from: the fields of one, and a term of
// metadata with the kind of reader and its options.
type Data struct {
	Fields []Field
	Term   ir.Term
}

// Field is one tensor of a batch; its first axis is the batch.
type Field struct {
	Name string
	Type ir.Type
}
