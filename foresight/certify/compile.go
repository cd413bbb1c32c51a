package certify

import (
	"ptc/foresight/certificate"
	"ptc/foresight/cost"
	"ptc/foresight/sim"
	"ptc/runtime/program"
)

// evaluator compiles and simulates layouts, given as texts.
type evaluator struct {
	given  *Given
	model  *cost.Model
	memory int64 // that a layout may take
	known  *known
	// probes and compilations are how many were asked for.
	probes, compilations int
}

// taken is what a layout takes by a probe, as a leaf.
func (e *evaluator) taken(text string) (l certificate.Leaf, err error) {
	e.probes++
	if l, ok := e.known.probed[text]; ok {
		return l, nil
	}
	plan, code, err := e.given.Probe(text)
	switch {
	case code != "":
		l, err = certificate.Leaf{Why: certificate.Illegal, Code: code}, nil
	case err == nil:
		l.Why, l.Bytes = certificate.Over, memory(plan)
		if l.Bytes <= e.memory {
			l.Why = certificate.Exact
			l.PS, err = e.simulate(plan)
		}
	}
	if err == nil {
		e.known.probed[text] = l
	}
	return l, err
}

// compiled is what a layout takes compiled in full, as a leaf.
func (e *evaluator) compiled(text string) (l certificate.Leaf, err error) {
	e.compilations++
	if l, ok := e.known.compiled[text]; ok {
		return l, nil
	}
	plan, err := e.given.Compile(text)
	if err != nil {
		return l, &refusal{err}
	}
	l.Bytes = memory(plan)
	if l.PS, err = e.simulate(plan); err == nil {
		e.known.compiled[text] = l
	}
	return l, err
}

// refusal is an error of a full compilation.
type refusal struct{ error }

// known is what layouts take, by their text: each is compiled once.
type known struct {
	probed, compiled map[string]certificate.Leaf
	tables           map[string]certificate.Table
	works            map[string][]cost.Part // of kernels, by their text
}

func newKnown() *known {
	return &known{map[string]certificate.Leaf{}, map[string]certificate.Leaf{}, map[string]certificate.Table{}, map[string][]cost.Part{}}
}

// memory is the bytes of the fullest device.
func memory(p *program.Plan) int64 {
	most := int64(0)
	for i := range p.Devices {
		most = max(most, p.Devices[i].Arena)
	}
	return most
}

// simulate is the time of a plan's step, in ps.
func (e *evaluator) simulate(plan *program.Plan) (int64, error) {
	work, err := e.work(plan)
	if err != nil {
		return 0, err
	}
	job, err := sim.New(plan, work, e.model, sim.Options{})
	if err != nil {
		return 0, err
	}
	r, err := sim.Run(job, sim.How{})
	if err != nil {
		return 0, err
	}
	return int64(r.Step), nil
}

// work is what the kernels of a plan do. Kernels with the same text do the same, in whichever plan.
func (e *evaluator) work(plan *program.Plan) (sim.Work, error) {
	out := make(sim.Work, 0, len(plan.Kernels))
	for _, x := range plan.Kernels {
		parts, ok := e.known.works[x.IR]
		if !ok {
			var err error
			if parts, err = e.model.PartsOf(x.Name, x.IR, nil); err != nil {
				return nil, err
			}
			e.known.works[x.IR] = parts
		}
		out = append(out, parts)
	}
	return out, nil
}

// table is what a block takes in a layout with a path, by a probe.
func (e *evaluator) table(path, text string) (t certificate.Table, err error) {
	e.probes++
	if t, ok := e.known.tables[text]; ok {
		return t, nil
	}
	t.At = path
	plan, code, err := e.given.Probe(text)
	switch {
	case code != "":
		t.Illegal, err = code, nil
	case err == nil:
		err = e.block(plan, &t)
	}
	if err == nil {
		e.known.tables[text] = t
	}
	return t, err
}

// block reads a block from a plan.
func (e *evaluator) block(plan *program.Plan, t *certificate.Table) error {
	work, err := e.work(plan)
	if err != nil {
		return err
	}
	b, err := sim.BlockOf(plan, work, e.model, e.given.Facts.Batch)
	if err != nil {
		return err
	}
	t.Forward, t.Backward, t.Exchanges, t.Ends = int64(b.Forward), int64(b.Backward), int64(b.Exchanges), int64(b.Ends)
	t.Kept, t.Shared = b.Kept, b.Shared
	return nil
}
