package search

import (
	"cmp"
	"iter"
	"slices"

	"ptc/foresight/certificate"
	"ptc/foresight/cost"
	"ptc/foresight/machine"
	"ptc/foresight/sim"
	"ptc/runtime/program"
)

// probing evaluates layouts by compiling them without code and simulating a step.
type probing struct {
	prober Prober
	space  *Space
	name   string
	model  *cost.Model
	works  map[string][]cost.Part // of kernels, by their text
}

func (p *probing) best(dtypes []string, flops int64) machine.PS { return p.model.AtBest(dtypes, flops) }

func (p *probing) exchange(kind string, s machine.Spread, bytes int64) machine.PS {
	return p.model.Collective(kind, s, bytes).Time
}

func (p *probing) between(from, to int, bytes int64) machine.PS {
	return p.model.Message(from, to, bytes).Time
}

func (p *probing) block(at *Choice) (t certificate.Table, err error) {
	plan, code, err := p.prober.Plan(at.Block(p.name, p.space))
	if t.Illegal = code; err != nil || code != "" {
		return t, err
	}
	work, err := p.work(plan)
	if err != nil {
		return t, err
	}
	b, err := sim.BlockOf(plan, work, p.model, p.space.Facts.Batch)
	if err != nil {
		return t, err
	}
	return certificate.Table{Forward: int64(b.Forward), Backward: int64(b.Backward), Exchanges: int64(b.Exchanges), Ends: int64(b.Ends),
		Kept: b.Kept, Shared: b.Shared}, nil
}

func (p *probing) layout(c *Choice) (certificate.Leaf, error) {
	l := certificate.Leaf{By: certificate.Probe}
	plan, code, err := p.placed(c)
	if err != nil {
		return l, err
	}
	switch l.Bytes = memory(plan); {
	case code != "":
		l.Why, l.Code = certificate.Illegal, code
	case l.Bytes > p.space.memory:
		l.Why = certificate.Over
	default:
		l.Why = certificate.Exact
		step, err := p.simulate(plan)
		if err != nil {
			return l, err
		}
		l.PS = int64(step)
	}
	return l, nil
}

// placed is the plan of a layout. The order of the mesh says where ranks stand, and not what they do: layouts that differ in it
// share a probe, that of the usual order, whose plan is then on another mesh.
func (p *probing) placed(c *Choice) (*program.Plan, string, error) {
	usual := *c
	usual.Order = c.axes("pp", "dp", "ep", "cp", "tp")
	plan, code, err := p.prober.Plan(usual.Block(p.name, p.space))
	if plan == nil || slices.Equal(usual.Order, c.Order) {
		return plan, code, err
	}
	return onMesh(plan, c.Order), "", nil
}

// onMesh is a plan with its mesh in another order. Parts of an axis that the plan divides stay together.
func onMesh(p *program.Plan, order []string) *program.Plan {
	place := func(a program.MeshAxis) int {
		for _, r := range p.Refined {
			if r.Key == a.Name {
				return slices.Index(order, r.Value)
			}
		}
		return slices.Index(order, a.Name)
	}
	out := *p
	out.Mesh = slices.Clone(p.Mesh)
	slices.SortStableFunc(out.Mesh, func(a, b program.MeshAxis) int { return cmp.Compare(place(a), place(b)) })
	return &out
}

// memory is the bytes of the device that needs the most.
func memory(p *program.Plan) (most int64) {
	if p == nil {
		return 0
	}
	for i := range p.Devices {
		most = max(most, p.Devices[i].Arena)
	}
	return most
}

// simulate is the step of a plan.
func (p *probing) simulate(plan *program.Plan) (machine.PS, error) {
	work, err := p.work(plan)
	if err != nil {
		return 0, err
	}
	job, err := sim.New(plan, work, p.model, sim.Options{})
	if err != nil {
		return 0, err
	}
	r, err := sim.Run(job, sim.How{})
	if err != nil {
		return 0, err
	}
	return r.Step, nil
}

// work is that of a plan's kernels, each text read once in a search.
func (p *probing) work(plan *program.Plan) (sim.Work, error) {
	out := make(sim.Work, len(plan.Kernels))
	for i := range plan.Kernels {
		k := &plan.Kernels[i]
		w, ok := p.works[k.IR]
		if !ok {
			var err error
			if w, err = p.model.PartsOf(k.Name, k.IR, nil); err != nil {
				return nil, err
			}
			p.works[k.IR] = w
		}
		out[i] = w
	}
	return out, nil
}

// All yields every layout of a space, its path and the text of its block, in the order of the tree. It is for tests: there are as
// many as the product of all dimensions.
func All(p Prober, s *Space, name string) iter.Seq2[string, string] {
	return func(yield func(path, text string) bool) {
		s.prepare()
		f := newFinder(newProbing(p, s, name), s, name)
		var walk func(c *Choice) bool
		walk = func(c *Choice) bool {
			if c.Depth == len(Dimensions) {
				for _, x := range f.sources(c) {
					if x.by != certificate.OneTable {
						continue
					}
					if _, err := f.tableOf(x); err != nil {
						return false
					}
				}
				f.stages(c)
				return yield(c.Path(), c.Block(name, s))
			}
			for _, x := range s.branches(c) {
				if !walk(x) {
					return false
				}
			}
			return true
		}
		walk(&Choice{})
	}
}

func newProbing(p Prober, s *Space, name string) *probing {
	return &probing{prober: Remembering(p), space: s, name: name, model: cost.New(s.Cluster, cost.Software{}), works: map[string][]cost.Part{}}
}
