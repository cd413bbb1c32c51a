package layout

import (
	"slices"

	"ptc/internal/diag"
	"ptc/ir/pipeline"
)

// Rule is a directive of a layout, decoded: a pointer to one of the types of this
// package.
type Rule interface {
	// Where is the rule's place in the source, "model.ptl:9:3"; empty where it has
	// none.
	Where() string
	// Place sets it.
	Place(at diag.Pos)
	// fields are the rule's fields with the keys that they have in its term.
	fields() []field
}

// Form says where in a module a directive is kept.
type Form int

const (
	InRules Form = iota // a term of the layout's rules
	InMeta              // a term of the metadata, next to the layout
	InMesh              // the module's mesh
)

// Row is one directive.
type Row struct {
	Word string // in the language, and the head of its term
	// Passes act on it, the one that owns it first.
	Passes []string
	Form   Form
	// New is the directive where its term says nothing; nil for what has no term.
	New func() Rule
	// Keys are its options in braces; of device, those that follow the word.
	Keys []Key
	// Option says what it is where it is written as an entry of the layout, `word = 1 MiB`.
	Option *Option
}

// Key is an option of a directive, and the words that it may be, where it is a word.
type Key struct {
	Name  string
	Words []string
}

// Option is a directive that is a number: of bytes, or a count from 1 on.
type Option struct {
	What, Example string
	Counts        bool
	Rule          func(n int64) Rule
}

// Table lists the directives of the language.
var Table = []Row{
	{Word: "mesh", Passes: []string{"propagate"}, Form: InMesh},
	{Word: "shard", Passes: []string{"propagate", "context"}, New: func() Rule { return &Shard{} },
		Keys: []Key{{"attention", Attentions}, {"order", Orders}}},
	{Word: "replicate", Passes: []string{"propagate"}, New: func() Rule { return &Replicate{} }},
	{Word: "zero", Passes: []string{"propagate", "overlap"}, New: func() Rule { return &Zero{Level: 1, Prefetch: Unsaid} },
		Keys: []Key{{Name: "prefetch"}}},
	{Word: "pipeline", Passes: []string{"stage", "schedule"},
		New:  func() Rule { return &Pipeline{Schedule: "1f1b", Microbatches: 1, Chunks: 1} },
		Keys: []Key{{"schedule", pipeline.Names()}, {Name: "microbatches"}, {Name: "chunks"}, {Name: "stages"}}},
	{Word: "accumulate", Passes: []string{"stage", "schedule"}, New: func() Rule { return &Accumulate{} },
		Option: &Option{What: "the number of parts of the batch whose gradients add up", Example: "8", Counts: true, Rule: func(n int64) Rule { return &Accumulate{Times: int(n)} }}},
	{Word: "recompute", Passes: []string{"remat"}, New: func() Rule { return &Recompute{} },
		Keys: []Key{{Name: "keep"}, {Name: "budget"}}},
	{Word: "precision", Passes: []string{"precision", "scale"}, Form: InMeta, New: func() Rule { p := Float32(); return &p },
		Keys: []Key{{"compute", precisions("compute")}, {"params", precisions("params")}, {"reduce", precisions("reduce")}, {"loss_scale", []string{"dynamic"}}, {"products", []string{Float8}}, {Name: "on"}}},
	{Word: "offload", Passes: []string{"offload-optimizer", "offload-activations"}, New: func() Rule { return &Offload{} },
		Keys: []Key{{Name: "piece"}}},
	{Word: "forbid", Passes: []string{"partition", "collectives"}, New: func() Rule { return &Forbid{} }},
	{Word: "device", Passes: []string{"memory", "remat"}, New: func() Rule { return &Device{} }, Keys: []Key{{Name: "memory"}}},
	{Word: "overlap", Passes: []string{"overlap"}, New: func() Rule { return &Overlap{} }},
	{Word: "bucket", Passes: []string{"overlap"}, New: func() Rule { return &Bucket{Bytes: Unsaid} },
		Option: &Option{What: "the size of a bucket", Example: "25 MiB", Rule: func(n int64) Rule { return &Bucket{Bytes: n} }}},
	{Word: "two_level", Passes: []string{"collectives"}, New: func() Rule { return &TwoLevel{Bytes: Unsaid} },
		Option: &Option{What: "the payload from which a collective has two levels", Example: "64 KiB", Rule: func(n int64) Rule { return &TwoLevel{Bytes: n} }}},
}

// precisions are the names of the dtypes that a setting may have.
func precisions(key string) (out []string) {
	for _, d := range Precisions[key] {
		out = append(out, d.String())
	}
	return out
}

// Words are the words of the table, sorted.
func Words() []string {
	var out []string
	for _, r := range Table {
		out = append(out, r.Word)
	}
	slices.Sort(out)
	return out
}

// OptionOf is the option of a word, nil where it is none; and the words of all.
func OptionOf(word string) (o *Option, words []string) {
	for _, r := range Table {
		if r.Option != nil {
			words = append(words, r.Word)
			if r.Word == word {
				o = r.Option
			}
		}
	}
	return o, words
}

// row is the row of a word, or nil.
func row(word string) *Row {
	i := slices.IndexFunc(Table, func(r Row) bool { return r.Word == word })
	if i < 0 {
		return nil
	}
	return &Table[i]
}
