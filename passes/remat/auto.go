package remat

import (
	"fmt"
	"maps"
	"sort"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/passes/pass"
	"ptc/passes/stage"
)

// budgeted is what is decided under the budget of rule auto: of each device, its units and
// what was chosen for them.
type budgeted struct {
	b       *builder
	devices []*device // nil where there is nothing to decide
	budgets []int64
	plans   []plan
}

// plans chooses what is kept under the budget of rule x; all instances of a run alike,
// unless they may differ (apart). Rules that name modules hold beside it. nil where
// the schedule's own pass reports what is wrong, with its place.
func plans(m *ir.Module, x rule, rules []rule, p *phases, a *attentions, named map[*ir.Op]bool, apart bool) (*budgeted, error) {
	l, err := localOf(m)
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
	flight, err := flights(pipe, devices)
	if err != nil {
		return nil, nil
	}
	drawn := p.drawn()
	maps.Copy(drawn, named)
	b := &builder{phases: p, attentions: a, bytes: l.kept, shards: l.shards,
		device: device, forced: forcedBy(rules, drawn)}
	b.build()
	out := &budgeted{b: b}
	fronts := map[string]front{}
	for d := range devices {
		dev := deviceOf(b, d, flight, fronts)
		dev.apart = apart
		budget, why := budgetOf(m, x, l, b.device, d)
		var chosen plan
		if len(dev.units) > 0 {
			ok := false
			if chosen, ok = dev.choose(budget); !ok {
				return nil, dev.tooLittle(x, budget, why)
			}
		}
		out.devices, out.budgets, out.plans = append(out.devices, dev), append(out.budgets, budget), append(out.plans, chosen)
	}
	return out, nil
}

// auto has w rematerialize what is chosen under the budget of rule x.
func auto(c *pass.Context, m *ir.Module, x rule, rules []rule, w *rewriter) error {
	chosen, err := plans(m, x, rules, w.phases, w.attentions, w.again, false)
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
	c.Remarkf(nil, "@step: %d operations are rematerialized in the backward phase, %.3g more flops", w.count, w.flops)
	return nil
}

// forcedBy is what rules that name modules decide of an operation.
func forcedBy(rules []rule, redo map[*ir.Op]bool) func(*ir.Op) decision {
	return func(o *ir.Op) decision {
		if redo[o] {
			return again
		}
		for _, r := range rules {
			if r.keeps(o.Scope) {
				return keep
			}
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
func budgetOf(m *ir.Module, x rule, l *local, device func(int) int, d int) (int64, string) {
	if x.budget > 0 {
		return x.budget, "the budget"
	}
	memory := int64(0)
	for _, r := range layout.All[*layout.Device](layout.Of(m)) {
		memory = r.Memory
	}
	if memory <= 0 {
		return 1 << 61, "no budget"
	}
	rest, work := l.persistent(device, d), l.backward(device, d)
	return max(0, memory-rest-work), fmt.Sprintf("what a device's memory of %s leaves after %s of parameters, state, gradients and data, and %s that the backward phase works in",
		pass.Bytes(memory), pass.Bytes(rest), pass.Bytes(work))
}

// mark notes what a plan rematerializes that has the same option for all instances of
// a unit.
func (d *device) mark(p plan, redo map[*ir.Op]bool) {
	for i := range d.units {
		u := &d.units[i]
		for n, r := range u.regions {
			for c := u.option(n, p.picks[i][0]).last; c != nil; c = c.prev {
				if o := r.nodes[c.node].o; o != nil && c.what == again {
					redo[o] = true
				}
			}
		}
	}
}

// markViews rematerializes the views of what is rematerialized.
func (b *builder) markViews(redo map[*ir.Op]bool) {
	for _, o := range b.f.Ops {
		if !b.forward[o] || b.isNode(o) || b.free[o] {
			continue
		}
		if v := b.root(o.Results[0]); v != nil && redo[v.Def] {
			redo[o] = true
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
		of = " of " + pass.Bytes(budget)
	}
	proof := "no choice does less"
	if p.bound < p.flops {
		proof = fmt.Sprintf("no choice does less than %.3g FLOP", float64(p.bound))
	}
	if p.flops == 0 {
		return fmt.Sprintf("auto: %sactivations of at most %s%s, nothing is rematerialized", where, pass.Bytes(p.peak), of)
	}
	return fmt.Sprintf("auto: %sactivations of at most %s%s, %.3g FLOP of rematerialization%s; %s", where, pass.Bytes(p.peak), of, float64(p.flops), per, proof)
}

// tooLittle is the error of a budget that nothing fits in.
func (d *device) tooLittle(x rule, budget int64, why string) error {
	p := d.least()
	e := &diag.Error{Code: "E0613", Pos: x.at,
		Msg:  fmt.Sprintf("activations need at least %s on a device", pass.Bytes(p.peak)),
		Want: fmt.Sprintf("at most %s, %s", pass.Bytes(budget), why),
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
			parts = append(parts, part{n * u.once, fmt.Sprintf("%s kept for all of %s", pass.Bytes(n*u.once), u.stack().Name)})
		}
		for at, k := range p.picks[i] {
			for j, r := range u.regions {
				o := u.option(j, k)
				text := fmt.Sprintf("%s kept for %s", pass.Bytes(n*o.keep), regionName(r, u.number(at)))
				if n > 1 {
					text += fmt.Sprintf(", of %d microbatches", n)
				}
				if o.work > o.keep {
					text += fmt.Sprintf(", %s rematerialized", pass.Bytes(o.work-o.keep))
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
