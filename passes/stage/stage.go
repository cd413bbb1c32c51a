package stage

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/op"
	"ptc/ir/pipeline"
	"ptc/passes/pass"
)

// Of is m's pipeline, or nil where stages are on one device anyway.
func Of(m *ir.Module) *layout.Pipeline {
	for _, r := range layout.All[*layout.Pipeline](layout.Of(m)) {
		if m.MeshSize(r.Over) > 1 {
			return r
		}
		break
	}
	return nil
}

// Placed says where the virtual stages of pipeline r are. It is an error if an
// operation of m is on none of them.
func Placed(m *ir.Module, r *layout.Pipeline) (*pipeline.Placement, error) {
	devices := m.MeshSize(r.Over)
	p, err := pipeline.PlacementOf(r.Schedule, devices, r.Chunks)
	if err != nil {
		return nil, Refused(r, err)
	}
	for _, f := range m.Funcs {
		for _, o := range f.Ops {
			if s := o.Stage.Or(0); s >= devices*r.Chunks {
				return nil, Refused(r, fmt.Errorf("@%s: `%s` is on stage %d, of %d", f.Name, o.Name, s, devices*r.Chunks))
			}
		}
	}
	return p, nil
}

// Refused is what a schedule does not allow, which err says with its name.
func Refused(r *layout.Pipeline, err error) error {
	return &diag.Error{Code: "E0610", Pos: r.At, Msg: err.Error()}
}

// plan is how the functions of a module are cut.
type plan struct {
	*pass.Context
	rule    *layout.Pipeline // nil where each device has the whole model
	stages  int
	micro   int                 // microbatches
	reduced bool                // gradients are reduced by each microbatch, before they are added up
	at      diag.Pos            // where the layout asks for them
	place   *pipeline.Placement // where stands are asked for
}

// planOf is m's plan, or nil where there is nothing to cut.
func planOf(c *pass.Context, m *ir.Module) (*plan, error) {
	p := &plan{Context: c, rule: Of(m), stages: 1, micro: layout.Microbatches(m), reduced: layout.ZeroPerMicro(m) >= 2}
	for _, r := range layout.All[*layout.Pipeline](layout.Of(m)) {
		p.at = r.At
	}
	for _, r := range layout.All[*layout.Accumulate](layout.Of(m)) {
		p.at = r.At
	}
	if p.rule == nil && p.micro == 1 {
		return nil, nil
	}
	if p.rule == nil {
		return p, nil
	}
	if _, err := Placed(m, p.rule); err != nil {
		return nil, err
	}
	p.stages = m.MeshSize(p.rule.Over) * p.rule.Chunks
	// A parameter has one home: blocks lie in every function as they do in @step.
	if f := m.Func("step"); f != nil && len(p.rule.Stages) == 0 {
		t, err := newTagger(f, p)
		if err != nil {
			return nil, err
		}
		p.rule.Stages = t.counts
	}
	return p, nil
}

// Run tags the operations of every function and has those on the batch done for each
// microbatch.
func Run(c *pass.Context, m *ir.Module) error {
	p, err := planOf(c, m)
	if p == nil || err != nil {
		return err
	}
	if err := p.stand(m); err != nil {
		return err
	}
	whole, remarks := m.Clone(), len(c.Remarks)
	err = p.all(m)
	if errors.Is(err, errApart) { // each instance for itself, then
		*m, c.Remarks = *whole.Unrolled(), c.Remarks[:remarks]
		c.Stands = nil
		err = p.all(m)
	}
	return err
}

// all assigns every function.
func (p *plan) all(m *ir.Module) error {
	for _, f := range m.Funcs {
		if err := p.function(m, f); err != nil {
			return err
		}
	}
	return nil
}

// function cuts f. A validation that relates rows of several microbatches takes the
// whole batch at once.
func (p *plan) function(m *ir.Module, f *ir.Func) error {
	if f.Name == "step" {
		return p.assign(m, f, true)
	}
	parts := f.Clone()
	err := p.assign(m, parts, true)
	var e *diag.Error
	if errors.As(err, &e) && e.Code == related {
		p.Remarkf(nil, "@%s takes the entire batch at once: %s", f.Name, e.Msg)
		return p.assign(m, f, false)
	}
	if err == nil {
		*f = *parts
	}
	return err
}

// errApart says that what instances of a stack do is not on one stage, in one phase,
// or not alike in all microbatches.
var errApart = errors.New("instances differ")

// assign tags f and, where it is to be in microbatches, has the operations on the batch
// done for each.
func (p *plan) assign(m *ir.Module, f *ir.Func, micro bool) error {
	t, err := newTagger(f, p)
	if err == nil && len(f.Stacks) > 0 && p.rule != nil {
		if err = t.split(); err == nil {
			t, err = newTagger(f, p)
		}
	}
	if err != nil {
		return err
	}
	if err := t.run(); err != nil {
		return err
	}
	if !micro {
		t.stamp()
		return nil
	}
	switch {
	case f.Name != "step":
	case p.rule != nil:
		p.Remarkf(nil, "blocks per stage: %v; %d microbatches", t.counts, p.micro)
	default:
		p.Remarkf(nil, "gradients are accumulated over %d microbatches", p.micro)
	}
	if err := microbatch(m, f, t); err != nil || p.rule == nil {
		return err
	}
	return inOrder(f, p.rule)
}

// inOrder refuses what no schedule can do: a microbatch goes through the stages once, from
// the first to the last and back.
func inOrder(f *ir.Func, r *layout.Pipeline) error {
	for _, o := range f.Ops {
		for _, v := range o.Args {
			d := v.Def
			if d == nil || !o.PerMicro() || !d.PerMicro() || o.Phase != d.Phase {
				continue
			}
			here, known := o.Stage.Get()
			from, made := d.Stage.Get()
			if known && made && (o.Phase == ir.Forward && from > here || o.Phase == ir.Backward && from < here) {
				return &diag.Error{Code: "E0606", Pos: o.Pos, Note: notes(r.At),
					Msg:  fmt.Sprintf("`%s` on stage %d reads, of the same microbatch, what `%s` makes on stage %d in the %s phase", o.Name, here, d.Name, from, o.Phase),
					Want: fmt.Sprintf("a model that goes through `%s` once, in their order", r.Blocks)}
			}
		}
	}
	return nil
}

// tagger finds stage and half of every operation of one function.
type tagger struct {
	f *ir.Func
	*plan
	counts []int       // blocks per virtual stage
	of     map[int]int // block → virtual stage
	last   int         // last virtual stage
	stage  map[*ir.Op]int
	phase  map[*ir.Op]ir.Phase
	home   map[*ir.Value]int // argument → virtual stage
	arg    map[*ir.Value]*ir.Arg
	loss   int // index of the operation that makes the loss
	loose  map[*ir.Op]bool
	// home of a stack: the stage of its instances.
	stacks map[*ir.Stack]int
}

// anywhere marks operations that need nothing of any stage: every stage that
// reads them computes them itself.
const anywhere = -1

func newTagger(f *ir.Func, p *plan) (*tagger, error) {
	t := &tagger{f: f, plan: p, last: p.stages - 1, of: map[int]int{}, stage: map[*ir.Op]int{}, phase: map[*ir.Op]ir.Phase{}, home: map[*ir.Value]int{}, arg: map[*ir.Value]*ir.Arg{}, loose: map[*ir.Op]bool{}, stacks: map[*ir.Stack]int{}}
	r, stages := p.rule, p.stages
	if r == nil {
		return t, nil
	}
	blocks, flops := 0, 0.0
	for _, o := range f.Ops {
		if k, ok := t.block(o); ok {
			if o.Run != nil {
				k, _ = t.number(ir.OfInstance(o.Scope, o.Run.Stack.Count-1))
			}
			blocks = max(blocks, k+1)
			flops += op.Work(o)
		}
	}
	if blocks < stages {
		return nil, &diag.Error{Code: "E0607", Pos: r.At, Msg: fmt.Sprintf("a pipeline of %d stages over %d blocks of `%s`", stages, blocks, r.Blocks),
			Hint: "use fewer stages or more blocks"}
	}
	t.counts = r.Stages
	if len(t.counts) == 0 {
		t.counts = balance(blocks, stages, math.Floor(flops/float64(max(1, blocks))), t.outside())
	}
	k := 0
	for s, n := range t.counts {
		for range n {
			t.of[k] = s
			k++
		}
	}
	return t, nil
}

// block is the number of the block that o's scope is in; in a run, of the first
// instance.
func (t *tagger) block(o *ir.Op) (int, bool) { return t.number(ir.OfInstance(o.Scope, 0)) }

func (t *tagger) number(scope string) (int, bool) {
	if t.rule == nil {
		return 0, false
	}
	rest, ok := strings.CutPrefix(scope, t.rule.Blocks+".")
	if !ok {
		return 0, false
	}
	number, _, _ := strings.Cut(rest, ".")
	k, err := strconv.Atoi(number)
	return k, err == nil
}

// outside is the work before and after the blocks: operations that do not
// belong to a block, until the first and from the last block on.
func (t *tagger) outside() (cost [2]float64) {
	seen := 0
	for _, o := range t.f.Ops {
		if _, ok := t.block(o); ok {
			seen = 1
			continue
		}
		cost[seen] += op.Work(o)
	}
	return cost
}

// balance cuts n equal blocks into stages so that the most loaded stage has
// the least work; the first also has what precedes the blocks, the last what
// follows. Among equal cuts earlier stages get more: of those, the first and then the
// last have the fewest.
func balance(n, stages int, block float64, outside [2]float64) []int {
	if stages == 1 {
		return []int{n}
	}
	middle := stages - 2
	best, bestCost := []int(nil), -1.0
	for first := 1; first <= n-middle-1; first++ {
		before := float64(first)*block + outside[0]
		most := n - first - middle // of the last stage
		behind := func(last int) float64 { return float64(last)*block + outside[1] }
		between := func(last int) float64 { // the most loaded one: less, the more the last has
			if middle == 0 {
				return 0
			}
			return float64((n-first-last+middle-1)/middle) * block
		}
		least := 1
		if middle == 0 {
			least = most // it has all that is left
		}
		tick := least + sort.Search(most-least, func(i int) bool { return behind(least+i) >= between(least+i) })
		cost := max(behind(tick), between(tick))
		if tick > least {
			cost = min(cost, max(behind(tick-1), between(tick-1)))
		}
		if cost = max(cost, before); bestCost < 0 || cost < bestCost {
			last := least + sort.Search(most-least, func(i int) bool { return between(least+i) <= cost })
			best, bestCost = spread(n, stages, first, last), cost
		}
	}
	return best
}

// spread gives the first and last stage their blocks and the others equal
// shares of the rest.
func spread(n, stages, first, last int) []int {
	counts := make([]int, stages)
	counts[0], counts[stages-1] = first, last
	rest, middle := n-first-last, stages-2
	for i := range middle {
		counts[1+i] = rest / middle
		if i < rest%middle {
			counts[1+i]++
		}
	}
	return counts
}

func notes(at diag.Pos) []diag.Note {
	if !at.IsValid() {
		return nil
	}
	return []diag.Note{{Pos: at, Msg: "asked for here"}}
}
