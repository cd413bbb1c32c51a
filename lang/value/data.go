package value

import (
	"ptc/ir"
)

// Data is where batches come from: the fields of one, and a term of
// metadata with the kind of reader and its options.
type Data struct {
	Fields []Field
	Term   ir.Term

	// Weight is the number that the source was multiplied by, of which a mixture
	// takes the proportion; 0: none.
	Weight float64
}

// Field is one tensor of a batch; its first axis is the batch.
type Field struct {
	Name string
	Type ir.Type
}
