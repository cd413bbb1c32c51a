package data

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptc/internal/dtype"
)

// Option is one setting of a source, as stored in the plan. A key may repeat
// if the source allows it. The empty key is the positional argument.
type Option struct{ Key, Value string }

// DType is the element type of a field.
type DType = dtype.DType

// The element types of fields.
const (
	I32 = dtype.I32
	F32 = dtype.F32
)

// Field is one input of the step program: its name and its global shape, the
// batch axis first.
type Field struct {
	Name  string
	DType DType
	Shape []int
}

func (f Field) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s[", f.Name, f.DType)
	for i, n := range f.Shape {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	b.WriteByte(']')
	return b.String()
}

// Batch describes the batch of a step. Size and Window are required by sources of
// tokens; 0 leaves Window to the source's option of that name.
type Batch struct {
	Size   int     // examples in the global batch
	Window int     // tokens in an example
	Vocab  int     // tokens must be below it; 0 leaves it unchecked
	Seed   uint64  // of the run; a source's `seed` option replaces it
	Fields []Field // to fill, in this order; if empty, all fields of the source

	// Folder is the folder of the plan: a tokenizer file is looked for there
	// too. Empty: nowhere else.
	Folder string

	// Past is the data that the run has used before. Nil: it starts.
	Past *Past

	// Vars are values of ${NAME} in paths; they precede the environment's.
	Vars []Option
}

// View is the part of one global field that a caller requests: the box
// [Lo[i], Hi[i]) on each axis i, row-major into I32 or F32 by the field's dtype.
// Nil Lo and Hi mean the whole field. A View with neither slice is skipped, for
// a device that does not read the field.
type View struct {
	Lo, Hi []int
	I32    []int32
	F32    []float32
}

// Source provides batches. All methods may be called concurrently.
type Source interface {
	// Fields lists the fields of a batch, in the order that Fill expects views.
	Fields() []Field

	// Fill writes the batch of a step (from 1, or from the step after the past). dst has one View for
	// each field. It allocates nothing unless it fails.
	Fill(step int64, dst []View) error

	// HeldOut fills each row of a batch with the held-out example of the number that row
	// has, 0 <= number < Held.
	HeldOut(number func(row int) int64, dst []View) error
	Held() int64

	// Tokens is the number of training tokens in an epoch, 0 if it has no end.
	Tokens() int64

	// Examples is the number of training examples in an epoch, 0 if it has no end. An
	// epoch of a mixture has as many as all its sources.
	Examples() int64

	// Describe describes the opened source in one line.
	Describe() string

	// Recipe determines the examples and their order.
	Recipe() Recipe

	// Fingerprint is equal for equal data split into equal examples, so that a
	// resumed run can tell that the data has changed. It covers neither the
	// seed nor the batch size.
	Fingerprint() string
}

// Opener opens a source of one kind.
type Opener func(opts []Option, b Batch) (Source, error)

var kinds = map[string]Opener{}

// Register adds a kind of source. It is called from init only.
func Register(kind string, open Opener) {
	if _, dup := kinds[kind]; dup {
		panic("data: source " + kind + " registered twice")
	}
	kinds[kind] = open
}

// Kinds lists the registered kinds in order of name.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// Open opens a source. Every error is an *Error.
func Open(kind string, opts []Option, b Batch) (Source, error) {
	open, ok := kinds[kind]
	if !ok {
		return nil, &Error{Kind: kind, Msg: "there is no such data source",
			Hint: "known: " + strings.Join(Kinds(), ", ")}
	}
	if b.Size < 1 {
		return nil, &Error{Kind: kind, Msg: fmt.Sprintf("batch size is %d, must be at least 1", b.Size)}
	}
	src, err := open(opts, b)
	if err != nil {
		return nil, asError(kind, err)
	}
	if on, ok := src.(resumed); ok && b.Past != nil {
		b.Past.goOn(on, kind != "mix" && givesSeed(opts))
	}
	return src, nil
}
