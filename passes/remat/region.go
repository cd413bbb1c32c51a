package remat

import (
	"fmt"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
)

// region is a part of the forward phase that is rematerialized on its own: a block,
// or what stands between blocks, on one stage. Values that
// leave a region are never rematerialized by it, so regions are independent
// but for the memory that they share. The region of a run is that of each of its
// instances; sizes and work are those of one.
type region struct {
	key   string // path of the block, or of the part outside of blocks
	run   *ir.Run
	stage int
	at    int // place in the forward phase
	nodes []node
	// fixed is what is kept for the region whatever is chosen; once is what the first
	// instance keeps besides, which all of them read.
	fixed, once int64
	inputs      map[*ir.Value]int // values of other regions that are nodes here
}

// node is an operation of a region that computes something, or a value that
// enters it, from the instance before too. Views are not nodes: they are where their operand is; constants
// and positions are not, since they cost nothing.
type node struct {
	o     *ir.Op // nil for a value that enters
	value *ir.Value
	bytes int64 // when kept
	flops int64 // to rematerialize it
	work  int64 // bytes that it takes when rematerialized; 0 where its readers compute it in passing
	// needed: the backward phase reads it.
	needed bool
	must   decision // undecided where there is a choice
	from   []int    // nodes that it reads, ascending
}

type decision uint8

const (
	undecided decision = iota
	keep
	again
)

// keyOf is the region that a scope belongs to: the outermost numbered path, or
// the first part of one without numbers; empty for the model itself.
func keyOf(scope string) string {
	parts := strings.Split(scope, ".")
	for i, s := range parts {
		if s != "" && (s[0] == '{' || s[0] >= '0' && s[0] <= '9') {
			return strings.Join(parts[:i+1], ".")
		}
	}
	return parts[0]
}

// builder finds the regions of a step.
type builder struct {
	*phases
	*attentions
	bytes   func(*ir.Value) int64 // on one device, when kept
	swept   func(*ir.Value) bool  // never there in full, whoever reads it
	shards  func(*ir.Op) int64    // devices that share the work of an operation
	device  func(stage int) int
	forced  func(*ir.Op) decision
	free    map[*ir.Op]bool
	regions []*region
	of      map[*ir.Op]*region
	byKey   map[string]*region
	node    map[*ir.Op]int
	use     map[*ir.Value]*uses
	result  map[*ir.Value]bool
	carried map[*ir.Value]bool      // values that enter a run or leave an instance
	onward  map[*ir.Value]bool      // those that leave one
	left    map[*ir.Value]*ir.Value // by what enters an instance: what leaves it
	same    map[*ir.Value]*ir.Value // by what enters an instance twice: as what it does so first
}

// root is the value whose memory v is in; nil for arguments and what costs
// nothing.
func (b *builder) root(v *ir.Value) *ir.Value {
	for v.Def != nil && op.CanView(v.Def) && !b.free[v.Def] {
		v = v.Def.Args[0]
	}
	if v.Def == nil || b.free[v.Def] {
		return nil
	}
	if x := b.same[v]; x != nil {
		return x
	}
	return v
}

func (b *builder) isNode(o *ir.Op) bool {
	return b.forward[o] && !b.free[o] && !op.CanView(o) && o.Name != ir.Leave
}

// build fills regions.
func (b *builder) build() {
	b.free, b.of, b.byKey = map[*ir.Op]bool{}, map[*ir.Op]*region{}, map[string]*region{}
	b.node, b.use, b.result = map[*ir.Op]int{}, map[*ir.Value]*uses{}, map[*ir.Value]bool{}
	b.carried, b.onward, b.left = map[*ir.Value]bool{}, map[*ir.Value]bool{}, map[*ir.Value]*ir.Value{}
	for _, o := range b.f.Ops {
		b.free[o] = b.isFree(o)
	}
	b.findSame()
	for _, o := range b.f.Ops {
		if b.isNode(o) || b.forward[o] && !b.free[o] && o.Name == ir.Leave {
			b.of[o] = b.regionOf(o)
		}
	}
	for _, r := range b.f.Results {
		if v := b.root(r.Value); v != nil {
			b.result[v] = true
		}
	}
	b.readers()
	for _, o := range b.f.Ops {
		if b.isNode(o) {
			b.add(o)
		}
		if b.of[o] != nil {
			for _, v := range o.Results {
				b.countFixed(v)
			}
		}
	}
}

// isFree reports whether o computes from constants and positions alone, is computed by
// every stage that reads it, or once for all microbatches, as the cast of a weight is:
// such a result stays to the end of the step, whatever the backward phase reads.
func (b *builder) isFree(o *ir.Op) bool {
	if b.tagged && (o.Stage == 0 || !o.Micro) {
		return true
	}
	d := op.Of(o)
	if len(o.Args) == 0 {
		return d.Class == op.Source
	}
	if d.Class != op.Elementwise && d.Class != op.Movement {
		return false
	}
	return !slices.ContainsFunc(o.Args, func(a *ir.Value) bool { return a.Def == nil || !b.free[a.Def] })
}

func (b *builder) name(key string, o *ir.Op) string {
	stack := ""
	if o.Run != nil {
		stack = o.Run.Stack.Name
	}
	return fmt.Sprintf("%s %d %s", key, o.Stage.Or(0), stack)
}

// regionOf is the region of a forward operation. What belongs to the model
// itself follows the last region that it reads.
func (b *builder) regionOf(o *ir.Op) *region {
	key := keyOf(o.Scope)
	if key == "" {
		var last *region
		for _, a := range o.Args {
			if v := b.root(a); v != nil {
				if r := b.of[v.Def]; last == nil || r.at > last.at {
					last = r
				}
			}
		}
		if last != nil {
			key = "after " + strings.TrimPrefix(last.key, "after ")
		}
	}
	name := b.name(key, o)
	r := b.byKey[name]
	if r == nil {
		r = &region{key: key, run: o.Run, at: len(b.regions), inputs: map[*ir.Value]int{},
			stage: o.Stage.Or(0)}
		b.byKey[name] = r
		b.regions = append(b.regions, r)
	}
	return r
}

// add makes o a node of its region.
func (b *builder) add(o *ir.Op) {
	r := b.of[o]
	n := node{o: o, value: o.Results[0], must: b.forced(o)}
	// Doing nothing again is better than moving something again.
	n.flops = max(1, op.Of(o).Flops(o)/b.shards(o))
	var reads []int
	args := o.Args
	if o.Name == ir.Enter { // which the instance keeps, or the one before
		n.must, args = keep, nil
		if b.passed(o.Result()) && b.use[o.Result()] != nil {
			r.once += b.bytes(o.Result())
		}
	}
	for _, a := range args {
		v := b.root(a)
		if v == nil {
			continue
		}
		if b.of[v.Def] == r {
			reads = append(reads, b.node[v.Def])
		} else {
			reads = append(reads, b.input(r, v))
		}
	}
	n.from = sortedSet(reads)
	if b.attentions.of[o.Results[0]] != nil { // computed again by whoever needs it, and never stored
		n.must = again
		b.node[o] = len(r.nodes)
		r.nodes = append(r.nodes, n)
		return
	}
	if b.swept(o.Results[0]) && n.must == undecided {
		n.must = keep
	}
	d := op.Of(o)
	folds := d.Class == op.Elementwise || d.Class == op.Source
	for _, v := range o.Results {
		u := b.use[v]
		if u == nil && !b.result[v] {
			continue
		}
		if u == nil {
			u = &uses{}
		}
		if !folds || u.stored {
			n.work += b.size(v)
		}
		if !b.leaves(v, r) {
			n.bytes += b.size(v)
			n.needed = n.needed || len(u.backward) > 0
			continue
		}
		n.must = keep
		if h, fixed := b.holder(v, b.device(r.stage)); h == r && !fixed {
			n.bytes += b.size(v)
		}
	}
	b.node[o] = len(r.nodes)
	r.nodes = append(r.nodes, n)
}

// input is the node of a value that enters r.
func (b *builder) input(r *region, v *ir.Value) int {
	if i, ok := r.inputs[v]; ok {
		return i
	}
	n := node{value: v, must: keep}
	if h, fixed := b.holder(v, b.device(r.stage)); h == r && !fixed {
		n.bytes = b.size(v)
	}
	r.inputs[v] = len(r.nodes)
	r.nodes = append(r.nodes, n)
	return len(r.nodes) - 1
}

// small is how much smaller than the largest value of a region one is that is
// always kept where it is read, such as the statistics of rows: keeping it takes
// nothing to speak of.
const small = 64

func (r *region) keepSmall() {
	var most int64
	for _, n := range r.nodes {
		most = max(most, n.bytes)
	}
	for i := range r.nodes {
		if n := &r.nodes[i]; n.must == undecided && n.bytes*small <= most {
			n.must = keep
		}
	}
}

func sortedSet(list []int) []int {
	var out []int
	for _, x := range list {
		at := len(out)
		for i, y := range out {
			if y >= x {
				at = i
				break
			}
		}
		if at < len(out) && out[at] == x {
			continue
		}
		out = append(out[:at], append([]int{x}, out[at:]...)...)
	}
	return out
}
