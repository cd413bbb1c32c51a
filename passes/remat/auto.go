package remat

import (
	"fmt"
	"maps"
	"slices"
	"sort"

	"ptc/internal/diag"
	"ptc/internal/units"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/passes/pass"
	"ptc/passes/stage"
)

// budgeted is what is decided under the budget of rule auto: of each device, its units and
// what was chosen for them.
type budgeted struct {
	*counted
	budgets []int64
	plans   []plan
}

// counted is what may be kept or rematerialized, by device, and what each takes.
type counted struct {
	m       *ir.Module
	b       *builder
	l       *local
	devices []*device
}

// countedOf finds the units of each device under rules, of which those that name modules
// hold together with auto; instances of a run decide alike, unless they may differ (apart). nil
// where the schedule's own pass reports what is wrong, with its place.
func countedOf(c *pass.Context, m *ir.Module, rules []rule, p *phases, a *attentions, apart bool) (*counted, error) {
	l, err := localOf(m, c.Target.Chunk)
	if err != nil {
		return nil, err
	}
	l.over = a.over
	pipe := stage.Of(m)
	devices, device := 1, func(int) int { return 0 }
	if pipe != nil {
		place, err := stage.Placed(m, pipe)
		if err != nil {
			return nil, err
		}
		devices, device = m.MeshSize(pipe.Over), place.Device
	}
	flight, err := flights(m, pipe)
	if err != nil {
		return nil, nil
	}
	decided := p.drawn()
	maps.Copy(decided, named(&pass.Context{}, p, rules))
	b := &builder{phases: p, attentions: a, bytes: l.kept, shards: l.shards, swept: l.swept,
		device: device, forced: forcedBy(rules, decided)}
	b.build()
	out := &counted{m: m, b: b, l: l}
	fronts := map[string]front{}
	for d := range devices {
		dev := deviceOf(b, d, flight, fronts)
		dev.apart, dev.effort = apart, exactly
		out.devices = append(out.devices, dev)
	}
	return out, nil
}

// plans chooses what is kept under the budget of rule x.
func plans(c *pass.Context, m *ir.Module, x rule, rules []rule, p *phases, a *attentions, apart bool) (*budgeted, error) {
	of, err := countedOf(c, m, rules, p, a, apart)
	if err != nil || of == nil {
		return nil, err
	}
	out := &budgeted{counted: of}
	for d, dev := range of.devices {
		budget, why := of.budgetOf(x, d)
		var chosen plan
		if len(dev.units) > 0 {
			ok := false
			if chosen, ok = dev.choose(budget); !ok {
				return nil, dev.tooLittle(x, budget, why)
			}
		}
		out.budgets, out.plans = append(out.budgets, budget), append(out.plans, chosen)
	}
	return out, nil
}

// auto has w rematerialize what is chosen under the budget of rule x.
func auto(c *pass.Context, m *ir.Module, x rule, rules []rule, w *rewriter) error {
	chosen, err := plans(c, m, x, rules, w.phases, w.attentions, false)
	if err != nil || chosen == nil {
		return err
	}
	w.again = map[*ir.Op]bool{}
	for d, dev := range chosen.devices {
		if len(dev.units) == 0 {
			continue
		}
		dev.mark(chosen.plans[d], w.again)
		c.Remarkf(nil, "%s", dev.remark(d, len(chosen.devices), chosen.budgets[d], chosen.plans[d]))
	}
	chosen.b.markViews(w.again)
	w.rewrite()
	c.Remarkf(nil, "@step: the backward phase rematerializes %d operations, for %.3g more FLOP", w.count, w.flops)
	return nil
}

// forcedBy is what rules that name modules decide of an operation.
func forcedBy(rules []rule, redo map[*ir.Op]bool) func(*ir.Op) decision {
	return func(o *ir.Op) decision {
		if redo[o] {
			return again
		}
		if slices.ContainsFunc(rules, func(r rule) bool { return r.keeps(o.Scope) }) {
			return keep
		}
		return undecided
	}
}

// deviceOf collects the units of device d.
func deviceOf(b *builder, d int, flight map[int]inFlight, fronts map[string]front) *device {
	dev := &device{flight: map[int]inFlight{}}
	var regions []*region
	var of []front
	for _, r := range b.regions {
		if b.device(r.stage) != d {
			continue
		}
		r.keepSmall()
		key := r.signature()
		f, ok := fronts[key]
		if !ok {
			f = frontOf(r)
			fronts[key] = f
		}
		regions, of = append(regions, r), append(of, f)
		dev.flight[r.stage] = flight[r.stage]
	}
	dev.units = unitsOf(regions, of)
	dev.join()
	return dev
}

// budgetOf is the bytes that device d may hold, and where they come from.
func (k *counted) budgetOf(x rule, d int) (int64, string) {
	if x.budget > 0 {
		return x.budget, "the budget"
	}
	memory := memoryOf(k.m)
	if memory <= 0 {
		return 1 << 61, "no budget"
	}
	arguments, gradients := k.l.persistent(k.b.device, d)
	rest, work := arguments+gradients, k.l.backward(k.b.device, d)
	return max(0, memory-rest-work), fmt.Sprintf("what a device's memory of %s leaves after %s of parameters, state, gradients and data, and %s that the backward phase works in",
		units.Bytes(memory), units.Bytes(rest), units.Bytes(work))
}

// memoryOf is what a device has, as the layout says, or 0.
func memoryOf(m *ir.Module) (memory int64) {
	for _, r := range layout.All[*layout.Device](layout.Of(m)) {
		memory = r.Memory
	}
	return memory
}

// mark notes what a plan rematerializes that has the same option for all instances of
// a unit.
func (d *device) mark(p plan, redo map[*ir.Op]bool) {
	for i := range d.units {
		u := &d.units[i]
		for n, r := range u.regions {
			r.redone(u.option(n, p.picks[i][0]), func(o *ir.Op) { redo[o] = true })
		}
	}
}

// redone calls do for the operations of the region that option o rematerializes.
func (r *region) redone(o option, do func(*ir.Op)) {
	for c := o.last; c != nil; c = c.prev {
		if op := r.nodes[c.node].o; op != nil && c.what == again {
			do(op)
		}
	}
}

// markViews rematerializes the views of what is rematerialized.
func (b *builder) markViews(redo map[*ir.Op]bool) {
	b.views(func(view, of *ir.Op) { redo[view] = redo[view] || redo[of] })
}

// views calls do for the views of the forward phase and the operations whose results they
// are of.
func (b *builder) views(do func(view, of *ir.Op)) {
	for _, o := range b.f.Ops {
		if !b.forward[o] || b.isNode(o) || b.free[o] {
			continue
		}
		if v := b.root(o.Results[0]); v != nil {
			do(o, v.Def)
		}
	}
}

// remark says what was chosen, and how good it is.
func (d *device) remark(n, devices int, budget int64, p plan) string {
	where, per := "", ""
	if devices > 1 {
		where, per = fmt.Sprintf("device %d of the pipeline: ", n), " for each microbatch"
	}
	of := ""
	if budget < 1<<61 {
		of = " of a budget of " + units.Bytes(budget)
	}
	proof := "no choice costs less"
	if p.bound < p.flops {
		proof = fmt.Sprintf("no choice costs less than %.3g FLOP", float64(p.bound))
	}
	if p.flops == 0 {
		return fmt.Sprintf("auto: %sactivations take at most %s%s; nothing is rematerialized", where, units.Bytes(p.peak), of)
	}
	return fmt.Sprintf("auto: %sactivations take at most %s%s; rematerialization costs %.3g FLOP%s; %s", where, units.Bytes(p.peak), of, float64(p.flops), per, proof)
}

// tooLittle is the error of a budget that nothing fits in.
func (d *device) tooLittle(x rule, budget int64, why string) error {
	p := d.least()
	e := &diag.Error{Code: "E0613", Pos: x.at,
		Msg:  fmt.Sprintf("activations need at least %s on a device", units.AtLeast(p.peak)),
		Want: fmt.Sprintf("at most %s, %s", units.Bytes(budget), why),
		Hint: "say at least so much, use smaller or more microbatches, or shard more"}
	type part struct {
		bytes int64
		text  string
	}
	var parts []part
	for i := range d.units {
		u := &d.units[i]
		n := d.flight[u.stage].kept
		if u.once > 0 {
			parts = append(parts, part{n * u.once, fmt.Sprintf("%s kept for all of %s", units.Bytes(n*u.once), u.stack().Name)})
		}
		for at, k := range p.picks[i] {
			for j, r := range u.regions {
				o := u.option(j, k)
				text := fmt.Sprintf("%s kept for %s", units.Bytes(n*o.keep), regionName(r, u.number(at)))
				if n > 1 {
					text += fmt.Sprintf(", of %d microbatches", n)
				}
				if o.work > o.keep {
					text += fmt.Sprintf(", %s rematerialized", units.Bytes(o.work-o.keep))
				}
				parts = append(parts, part{n*o.keep + o.work - o.keep, text})
			}
		}
	}
	sort.SliceStable(parts, func(i, j int) bool { return parts[i].bytes > parts[j].bytes })
	for i, x := range parts {
		if i == 5 {
			break
		}
		e.Note = append(e.Note, diag.Note{Msg: x.text})
	}
	return e
}

// regionName is what an error calls the region of instance k.
func regionName(r *region, k int) string {
	if r.key == "" {
		return "the model"
	}
	return ir.OfInstance(r.key, k)
}
