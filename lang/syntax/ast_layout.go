package syntax

import "strings"

// Directive is one line of a [Layout]: [Mesh], [Shard], [Replicate],
// [Pipeline], [Zero], [Recompute], [Precision], [Offload], [Forbid], [Device],
// [Overlap], or an [Entry] for a plain option.
type Directive interface {
	Node
	directive()
}

// Mesh is `mesh dp = 2, tp = 4`.
type Mesh struct {
	Span
	Axes []*Entry `parser:"'mesh' @@ ( ',' @@ )*"`
}

// Shard is `shard axis, … over mesh_axis`; `of path` limits it to the
// parameters that the path selects, `between Block` to the values between
// instances of these modules, and `over (a, b)` names several mesh axes, the
// first one outermost.
type Shard struct {
	Span
	Axes    []*Ident `parser:"'shard' @@ ( ',' @@ )*"`
	Of      []*Path  `parser:"( 'of' @@ ( ',' @@ )* )?"`
	Over    []*Ident `parser:"'over' ( '(' @@ ( ',' @@ )* ')' | @@ )"`
	Between []*Path  `parser:"( 'between' @@ ( ',' @@ )* )?"`
	Options *Options `parser:"@@?"`
}

// Replicate is `replicate wte`; `over` limits it to some mesh axes.
type Replicate struct {
	Span
	What []*Path  `parser:"'replicate' @@ ( ',' @@ )*"`
	Over []*Ident `parser:"( 'over' ( '(' @@ ( ',' @@ )* ')' | @@ ) )?"`
}

// Pipeline is `pipeline blocks over pp { options }`.
type Pipeline struct {
	Span
	What    *Path    `parser:"'pipeline' @@"`
	Over    *Ident   `parser:"'over' @@"`
	Options *Options `parser:"@@?"`
}

// Zero is `zero 1 over dp`: which stage of state partitioning.
type Zero struct {
	Span
	Stage   Expr     `parser:"'zero' @@"`
	Over    []*Ident `parser:"'over' ( '(' @@ ( ',' @@ )* ')' | @@ )"`
	Options *Options `parser:"@@?"`
}

// Recompute is `recompute Block { keep = [attn] }`; What may be `auto`.
type Recompute struct {
	Span
	What    []*Path  `parser:"'recompute' @@ ( ',' @@ )*"`
	Options *Options `parser:"@@?"`
}

// Precision is `precision { compute = bf16 … }`.
type Precision struct {
	Span
	Options *Options `parser:"'precision' @@"`
}

// Offload is `offload optimizer to host`; `of path` limits it to the modules
// that the path selects.
type Offload struct {
	Span
	What    []*Path  `parser:"'offload' @@ ( ',' @@ )*"`
	Of      []*Path  `parser:"( 'of' @@ ( ',' @@ )* )?"`
	To      *Ident   `parser:"'to' @@"`
	Options *Options `parser:"@@?"`
}

// Forbid is `forbid all_gather on wte`; without `on`, everywhere.
type Forbid struct {
	Span
	What []*Ident `parser:"'forbid' @@ ( ',' @@ )*"`
	On   []*Path  `parser:"( 'on' @@ ( ',' @@ )* )?"`
}

// Device is `device memory = 80 GiB`; several entries are separated by commas.
type Device struct {
	Span
	Entries []*Entry `parser:"'device' @@ ( ',' @@ )*"`
}

// Overlap is `overlap all_gather, reduce_scatter { options }`, or `overlap none`.
type Overlap struct {
	Span
	What    []*Ident `parser:"'overlap' @@ ( ',' @@ )*"`
	Options *Options `parser:"@@?"`
}

// Options is the block of a directive.
type Options struct {
	Span
	Entries []*Entry `parser:"'{' ';'* ( @@ ';'* )* '}'"`
}

// Path selects modules and parameters: `wte`, `blocks.*.mlp.w1`, `blocks.0`.
// `*` stands for one part, `**` for any number.
type Path struct {
	Span
	Parts []string `parser:"@( Ident | '*' | '**' ) ( '.' @( Ident | Int | '*' | '**' ) )*"`
}

// String is the path as written, without spaces.
func (p *Path) String() string { return strings.Join(p.Parts, ".") }

func (*Mesh) directive()      {}
func (*Shard) directive()     {}
func (*Replicate) directive() {}
func (*Pipeline) directive()  {}
func (*Zero) directive()      {}
func (*Recompute) directive() {}
func (*Precision) directive() {}
func (*Offload) directive()   {}
func (*Forbid) directive()    {}
func (*Device) directive()    {}
func (*Overlap) directive()   {}
func (*Entry) directive()     {}
