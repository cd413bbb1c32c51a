package op

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/tensor"
)

// Class groups operations by how they traverse their operands. It is what
// fusion and cost look at, so that they need not name operations.
type Class uint8

const (
	// Elementwise: each result element depends on the operand elements of the
	// same axis coordinates; operands may lack axes (broadcast by name).
	Elementwise Class = iota
	// Source: no tensor operand is read elementwise (const, index, random).
	Source
	// Reduction: reduces the axes in attribute over.
	Reduction
	// Contraction: dot.
	Contraction
	// Movement: the same elements under other coordinates (transpose, rename,
	// split, merge, slice, pad, concat, broadcast).
	Movement
	// Indexed: gather and scatter.
	Indexed
	// Collective: moves data between devices.
	Collective
	// Symbolic: exists only until autodiff expands it (grad, surrogate).
	Symbolic
	// Control: call.
	Control
	// Placement: reshard, which changes where the parts of a value are.
	Placement
	// Boundary: enter and leave, the ends of a run.
	Boundary
)

// AttrSpec says which attribute an op takes.
type AttrSpec struct {
	Key      string
	Kind     ir.AttrVal // a zero value of the expected type
	Required bool
}

// Def is the row of one operation.
type Def struct {
	Name string
	Doc  string // one sentence: what it computes
	// Word is how the language writes it: an operator, the name of a function, or []
	// for what an index in brackets does; empty for what the compiler alone makes.
	Word  string
	Class Class
	// MinArgs and MaxArgs bound the operands; MaxArgs < 0 means any number.
	MinArgs, MaxArgs int
	Attrs            []AttrSpec
	// Infer returns the result types, or a *ShapeError. Sizes may be global
	// or local. The operands' Mesh lists are copied along with their axes, as a
	// start for who sets the result's; they are checked by collectives only
	// (see Shard), and partial sums are not looked at. Operands and attributes
	// have passed [Def.Check], through which everyone calls this.
	Infer func(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error)
	// Grad emits, given the gradient of each result (nil where it is zero),
	// the gradient of each operand: same axes, order and dtype as the operand,
	// or nil where it is zero or the operand is not differentiable. A nil Grad
	// means that the result does not depend differentiably on any operand;
	// operations of class Collective, Symbolic and Control have none because
	// autodiff does not meet them, and must refuse them.
	Grad func(b *Builder, o *ir.Op, grads []*ir.Value) []*ir.Value
	// Shard is the sharding rule for these operand and result types.
	Shard func(o *ir.Op) Rule
	// Positions are the axes whose positions in the whole value the operation reads: a
	// shard of one is computed from where it lies as well as from the operands' shards.
	// Nil where there are none.
	Positions func(o *ir.Op) []string
	// State, for operations that move data between devices, is the result types
	// with the states that follow from those of the operands, or a *ShapeError
	// where these are not what the operation needs. Nil where the sharding rule
	// says it; see [States], through which everyone calls this.
	State func(o *ir.Op, args []ir.Type) ([]ir.Type, error)
	// Divide, where set, is for an axis that is cut over several mesh axes, and
	// several axes that are each cut over some of them: the axes of the result, in
	// their states, from those of the operand; nil where the sharding rule says it.
	// Sizes are a device's, or those of which parts says in how many parts they are.
	Divide func(o *ir.Op, parts func(ir.Axis) int) []ir.Axis
	// Inverse, where set, is the operation that makes o's operand of its result.
	Inverse func(o *ir.Op) (name string, attrs ir.Attrs)
	// Scalar, of elementwise operations of one operand, is what Eval does with a number.
	Scalar func(x float64) float64
	// Traits are what else passes ask of it.
	Traits Traits
	// Eval computes the results in float64; the evaluator rounds them to
	// their dtypes. Operands are not modified. The tensors' types carry local
	// sizes; c tells where this device is.
	Eval func(c *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error)
	// Flops counts the FLOPs of one execution; an fma is two. Where they are more than
	// the largest number, it is that.
	Flops func(o *ir.Op) int64
	// Localize is o's attributes for results of the given types, whose sizes
	// are one device's and whose Mesh says which part: attributes that hold
	// sizes need it. Nil where none does.
	Localize func(o *ir.Op, results []ir.Type) ir.Attrs
	// View, where set, says how the result is a view of the operand's buffer,
	// so that the operation moves nothing in memory.
	View ViewFunc
	// Linear says in which operands it is linear.
	Linear Linearity
	// Sample makes a random small valid example: operands (with values away
	// from kinks for differentiable ones) and attributes.
	Sample func(r *rand.Rand) Example
}

// Example is a random case of an operation for derived tests.
type Example struct {
	Args  []*tensor.Tensor
	Attrs ir.Attrs
}

// Context is what an evaluation knows besides operands.
type Context struct {
	Mesh  []ir.MeshAxis
	Coord map[string]int // this device's coordinate on each mesh axis
	// Call evaluates a function of the module, for the call op.
	Call func(fn *ir.Func, args []*tensor.Tensor) ([]*tensor.Tensor, error)
	// Send and Recv exchange messages with another device. Nil on one device.
	Send func(o *ir.Op, t *tensor.Tensor) error
	Recv func(o *ir.Op) (*tensor.Tensor, error)
	// Grad evaluates the grad op o of the function under evaluation.
	Grad func(o *ir.Op) ([]*tensor.Tensor, error)
	// Gather returns what every device of the group along the mesh axis passes
	// for mine, in coordinate order; the tensors are not to be modified. Nil
	// on one device.
	Gather func(o *ir.Op, mesh string, mine *tensor.Tensor) ([]*tensor.Tensor, error)
}

// Offset is the global index of the first element this device holds of axis
// a: 0 when a is not sharded.
func (c *Context) Offset(a ir.Axis) int {
	at := 0
	for _, m := range a.Mesh {
		at = at*c.meshSize(m) + c.Coord[m]
	}
	return at * a.Size
}

// Parts is the number of parts that axis a is cut into.
func (c *Context) Parts(a ir.Axis) int {
	n := 1
	for _, m := range a.Mesh {
		n *= c.meshSize(m)
	}
	return n
}

func (c *Context) meshSize(name string) int {
	for _, a := range c.Mesh {
		if a.Name == name {
			return a.Size
		}
	}
	return 1
}

// FactorKind says what sharding a factor means.
type FactorKind uint8

const (
	// PassThrough: sharding carries from operands to results.
	PassThrough FactorKind = iota
	// Reduce: sharded operands give results that are partial.
	Reduce
	// Replicate: the factor must not be sharded.
	Replicate
	// Exchange: sharding carries where each position is on a device of its own,
	// and becomes an exchange among them; otherwise it must not be sharded.
	Exchange
)

// Factor is one dimension of an operation's iteration space, as in Shardy's
// sharding rules, but named: it lists which axis of each operand and result
// it is.
type Factor struct {
	Kind FactorKind
	Size int
	// Args and Results name the axis of each operand and result that this
	// factor is, or the major part of (split, merge); empty where absent.
	Args, Results []string
	Reduction     string // Reduce: "sum" or "max"
	// Minor, of an axis that is split or merged, is its minor part. More mesh axes
	// may cut it where those before have cut the factor into single elements: the
	// whole is then cut over both.
	Minor *Factor
}

// Localize is the attributes that o has on one device, where its results have
// the given types; the partitioner gives them to the local operation.
func Localize(o *ir.Op, results []ir.Type) ir.Attrs {
	if f := Of(o).Localize; f != nil {
		return f(o, results)
	}
	return o.Attrs
}

// Rule is the sharding rule of an operation.
type Rule struct{ Factors []Factor }

// ShapeError is a mistake that shape inference found, in terms of axes.
type ShapeError struct {
	Msg        string   // what was found, with axis names in backquotes
	Want       string   // what was expected; may be empty
	Axis       string   // the axis at fault; may be empty
	Candidates []string // names that would have been right, for a suggestion
}

func (e *ShapeError) Error() string {
	if e.Want == "" {
		return e.Msg
	}
	return e.Msg + "; expected " + e.Want
}

var rows = map[string]*Def{}

// Register adds a row; a second one of the same name is a bug.
func Register(d *Def) *Def {
	if rows[d.Name] != nil {
		panic(fmt.Sprintf("op: row %q registered twice", d.Name))
	}
	rows[d.Name] = d
	near[nearby(d.Name)] = append(near[nearby(d.Name)], d)
	return d
}

// near has the rows again, a few in each place: every pass asks for the row of every
// operation, which a map answers in several times the time.
var near [1024][]*Def

// nearby is the place in near of rows called name: by its length and three of its bytes.
func nearby(name string) int {
	n := len(name)
	if n == 0 {
		return 0
	}
	return (n*31 + int(name[0])*7 + int(name[n/2])*131 + int(name[n-1])*17) % len(near)
}

// Lookup is the row called name, or nil.
func Lookup(name string) *Def {
	for _, d := range near[nearby(name)] {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// Of is the row of o; it panics where there is none, which the verifier
// excludes.
func Of(o *ir.Op) *Def {
	d := Lookup(o.Name)
	if d == nil {
		panic("op: no row for " + o.Name)
	}
	return d
}

// All lists the rows sorted by name.
func All() []*Def {
	return slices.SortedFunc(maps.Values(rows), func(a, b *Def) int { return strings.Compare(a.Name, b.Name) })
}
