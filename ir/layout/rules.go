package layout

import (
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
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
	// New is the directive where its term says nothing; nil for the mesh, which has no term.
	New  func() Rule
	Form Form
}

// Table lists the directives of the language, in the order in which messages name them.
var Table = []Row{
	{Word: "mesh", Passes: []string{"propagate"}, Form: InMesh},
	{Word: "shard", Passes: []string{"propagate", "context"}, New: func() Rule { return &Shard{} }},
	{Word: "replicate", Passes: []string{"propagate"}, New: func() Rule { return &Replicate{} }},
	{Word: "pipeline", Passes: []string{"stage", "schedule"}, New: func() Rule { return &Pipeline{Schedule: "1f1b", Microbatches: 1, Chunks: 1} }},
	{Word: "zero", Passes: []string{"propagate", "overlap"}, New: func() Rule { return &Zero{Level: 1, Prefetch: Unsaid} }},
	{Word: "accumulate", Passes: []string{"stage", "schedule"}, New: func() Rule { return &Accumulate{} }},
	{Word: "recompute", Passes: []string{"remat"}, New: func() Rule { return &Recompute{} }},
	{Word: "precision", Passes: []string{"precision", "scale"}, New: func() Rule { p := Float32(); return &p }, Form: InMeta},
	{Word: "offload", Passes: []string{"offload-optimizer", "offload-activations"}, New: func() Rule { return &Offload{} }},
	{Word: "forbid", Passes: []string{"partition", "collectives"}, New: func() Rule { return &Forbid{} }},
	{Word: "device", Passes: []string{"memory", "remat"}, New: func() Rule { return &Device{} }},
	{Word: "overlap", Passes: []string{"overlap"}, New: func() Rule { return &Overlap{} }},
	{Word: "bucket", Passes: []string{"overlap"}, New: func() Rule { return &Bucket{Bytes: Unsaid} }},
	{Word: "two_level", Passes: []string{"collectives"}, New: func() Rule { return &TwoLevel{Bytes: Unsaid} }},
}

// RowOf is the row of a word, or nil.
func RowOf(word string) *Row {
	i := slices.IndexFunc(Table, func(r Row) bool { return r.Word == word })
	if i < 0 {
		return nil
	}
	return &Table[i]
}

// Unsaid is a number that a rule leaves out, where 0 means something. Where it
// does not, it is 0.
const Unsaid = -1

// MaxPrefetch bounds how many blocks ahead of their use parameters are gathered.
const MaxPrefetch = 64

// Collectives are the kinds that can be forbidden or overlapped: all by which devices of a program
// exchange elements.
var Collectives = func() []string {
	var names []string
	for _, d := range op.All() {
		if d.Traits&op.Exchanges != 0 && d.Class == op.Collective {
			names = append(names, d.Name)
		}
	}
	return names
}()

// Attentions and Orders are how the positions of a sharded sequence meet in
// attention, and how they lie; the first one of each where a rule says nothing.
var (
	Attentions = []string{"ring", "gather"}
	Orders     = []string{"contiguous", "zigzag"}
)

// Offloaded are the kinds of tensors that can be moved out of device memory, and
// Memories where to.
var (
	Offloaded = []string{"optimizer", "activations"}
	Memories  = []string{ir.Host.String(), ir.Disk.String()}
)

// source is where the layout says a rule.
type source struct{ At diag.Pos }

func (s *source) Place(at diag.Pos) { s.At = at }

func (s *source) Where() string {
	if !s.At.IsValid() {
		return ""
	}
	return s.At.String()
}

// Shard is `shard batch over dp`: these axes over these mesh axes, the first one
// outermost.
type Shard struct {
	source
	Axes    []string
	Over    []string // mesh axes
	Of      []string // paths of parameters, where it is about them alone
	Between []string // modules, where it is about what passes between their instances
	// Attention and Order say how the positions of a sequence meet and lie; empty
	// where nothing is said.
	Attention, Order string
}

func (r *Shard) fields() []field {
	return []field{
		{key: "axes", at: &r.Axes, required: true}, {key: "over", at: &r.Over, mesh: true, required: true},
		{key: "of", at: &r.Of}, {key: "between", at: &r.Between},
		{key: "attention", at: (*word)(&r.Attention), from: Attentions}, {key: "order", at: (*word)(&r.Order), from: Orders},
	}
}

// Replicate is `replicate wte over tp`: parameters that are not sharded over these
// mesh axes, or over none.
type Replicate struct {
	source
	Of   []string // paths of parameters
	Over []string // mesh axes; none: all
}

func (r *Replicate) fields() []field {
	return []field{{key: "of", at: &r.Of}, {key: "over", at: &r.Over, mesh: true}}
}

// Zero is `zero 3 over dp`: what training keeps is sharded over these mesh axes,
// optimizer state from level 1, gradients from 2, parameters from 3 (ZeRO,
// Rajbhandari et al. 2020).
type Zero struct {
	source
	Level    int
	Over     []string // mesh axes
	Prefetch int      // blocks that parameters are gathered ahead of their use, or Unsaid
}

func (r *Zero) fields() []field {
	return []field{
		{key: "level", at: &r.Level, required: true, least: 1, most: 3}, {key: "over", at: &r.Over, mesh: true, required: true},
		{key: "prefetch", at: &r.Prefetch, most: MaxPrefetch},
	}
}

// Pipeline is `pipeline blocks over pp`: repeated blocks in stages.
type Pipeline struct {
	source
	Blocks       string // path of the repeated module
	Over         string // mesh axis
	Schedule     string
	Microbatches int
	Chunks       int   // virtual stages of each device
	Stages       []int // blocks of each virtual stage; none: balanced
}

func (r *Pipeline) fields() []field {
	return []field{
		{key: "blocks", at: &r.Blocks, required: true}, {key: "over", at: (*axis)(&r.Over), mesh: true, required: true},
		{key: "schedule", at: &r.Schedule, required: true, from: pipeline.Names()}, {key: "microbatches", at: &r.Microbatches, required: true, least: 1},
		{key: "chunks", at: &r.Chunks, required: true, least: 1}, {key: "stages", at: &r.Stages, least: 1},
	}
}

// Shape is what the schedule is made for. What `recompute` has an input backward compute again is
// kept until the weight backward: there, one of a stage waits, which keeps what a whole backward
// pass has at once.
func (r *Pipeline) Shape(m *ir.Module) pipeline.Shape {
	s := pipeline.Shape{Devices: m.MeshSize(r.Over), Microbatches: r.Microbatches, Chunks: r.Chunks}
	if len(All[*Recompute](Of(m))) > 0 {
		s.Waiting = 1
	}
	return s
}

// Accumulate is `accumulate = 8`: the batch is worked on in so many parts, one after
// the other, whose gradients add up. With a pipeline each part goes through it in the
// pipeline's microbatches.
type Accumulate struct {
	source
	Times int
}

func (r *Accumulate) fields() []field {
	return []field{{key: "times", at: &r.Times, required: true, least: 1}}
}

// Rounds are how often a step does its forward and backward phase, as `accumulate` says:
// 1 where nothing is said.
func Rounds(m *ir.Module) int {
	n := 1
	for _, r := range All[*Accumulate](Of(m)) {
		n *= max(1, r.Times)
	}
	return n
}

// Microbatches are the parts that the batch of a step is worked on in: those of a
// pipeline, also of one with a single stage, in each round.
func Microbatches(m *ir.Module) int {
	n := Rounds(m)
	for _, r := range All[*Pipeline](Of(m)) {
		n *= max(1, r.Microbatches)
	}
	return n
}

// ZeroPerMicro is the level of zero where a step accumulates gradients, 0 elsewhere: from
// level 2 on each microbatch reduces its gradients before they are added to those of the
// others, and with 3 it gathers the parameters that it reads. The microbatches of a
// pipeline alone share what is gathered, and are reduced together: a stage has many of
// them in flight, and few parameters. Over mesh axes of one device there is nothing to
// reduce or to gather.
func ZeroPerMicro(m *ir.Module) int {
	l := Of(m)
	if slices.ContainsFunc(All[*Pipeline](l), func(r *Pipeline) bool { return m.MeshSize(r.Over) > 1 && Rounds(m) == 1 }) {
		return 0
	}
	level := 0
	for _, r := range All[*Zero](l) {
		if slices.ContainsFunc(r.Over, func(a string) bool { return m.MeshSize(a) > 1 }) {
			level = max(level, r.Level)
		}
	}
	return level
}

// Recompute is `recompute Block { keep = attn }`: modules whose inner values the
// backward pass computes again, or `recompute auto`.
type Recompute struct {
	source
	Of     []string // patterns of paths, or names of modules; "auto" alone: chosen under a budget
	Keep   []string // members of these modules whose values are kept
	Budget int64    // bytes; 0: what device memory leaves
}

// Auto is whether the compiler chooses.
func (r *Recompute) Auto() bool { return len(r.Of) == 1 && r.Of[0] == "auto" }

func (r *Recompute) fields() []field {
	return []field{{key: "of", at: (*paths)(&r.Of)}, {key: "keep", at: &r.Keep}, {key: "budget", at: &r.Budget, least: 1}}
}

// Offload is `offload optimizer to host`.
type Offload struct {
	source
	What  []string // of Offloaded
	Of    []string // patterns of paths, or names of modules; none: all
	To    string   // one of Memories
	Piece int64    // bytes that move at once; 0 where nothing is said
}

func (r *Offload) fields() []field {
	return []field{
		{key: "what", at: &r.What, required: true, from: Offloaded}, {key: "of", at: (*paths)(&r.Of)},
		{key: "to", at: (*word)(&r.To), required: true, from: Memories}, {key: "piece", at: &r.Piece, least: 1},
	}
}

// Forbid is `forbid all_gather on wte`: collectives that must not move these
// parameters.
type Forbid struct {
	source
	Collectives []string
	Of          []string // paths of parameters; none: anything
}

func (r *Forbid) fields() []field {
	return []field{{key: "collectives", at: &r.Collectives, from: Collectives}, {key: "of", at: &r.Of}}
}

// Device is `device memory = 80 GiB`.
type Device struct {
	source
	Memory int64 // bytes
}

func (r *Device) fields() []field {
	return []field{{key: "memory", at: &r.Memory, required: true, least: 1}}
}

// Overlap is `overlap all_gather`: the collectives that may run concurrently with
// computation, perhaps none.
type Overlap struct {
	source
	Collectives []string
}

func (r *Overlap) fields() []field {
	return []field{{key: "collectives", at: &r.Collectives, from: Collectives, empty: true}}
}

// Bucket is `bucket = 25 MiB`: how many bytes of gradients are reduced at once.
type Bucket struct {
	source
	Bytes int64
}

func (r *Bucket) fields() []field { return []field{{key: "bytes", at: &r.Bytes, required: true}} }

// TwoLevel is `two_level = 64 KiB`: the bytes from which a collective across nodes
// has two levels.
type TwoLevel struct {
	source
	Bytes int64
}

func (r *TwoLevel) fields() []field { return []field{{key: "bytes", at: &r.Bytes, required: true}} }
