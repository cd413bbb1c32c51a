package remat

import (
	"fmt"
	"sort"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/passes/pass"
	"ptc/passes/stage"
)

// auto chooses what is kept under the budget of rule x, and has w do the rest
// again. Rules that name modules hold beside it.
func auto(c *pass.Context, m *ir.Module, x rule, rules []rule, w *rewriter) error {
	l, err := localOf(m)
	if err != nil {
		return err
	}
	p := stage.Of(m)
	devices, device := 1, func(int) int { return 0 }
	if p != nil {
		place, err := stage.Placed(m, p)
		if err != nil {
			return err
		}
		devices, device = m.MeshSize(p.Over), place.Device
	}
	flight, err := flights(p, devices)
	if err != nil {
		return nil // the schedule's own pass reports it, with its place
	}
	b := &builder{phases: w.phases, bytes: l.kept, shards: l.shards,
		device: device, forced: forcedBy(rules, w.again)}
	b.build()
	w.again = map[*ir.Op]bool{}
	fronts := map[string]front{}
	for d := range devices {
		dev := deviceOf(b, d, flight, fronts)
		if len(dev.regions) == 0 {
			continue
		}
		budget, why := budgetOf(m, x, l, b.device, d)
		chosen, ok := dev.choose(budget)
		if !ok {
			return dev.tooLittle(x, budget, why)
		}
		b.mark(dev, chosen, w.again)
		c.Remarkf(nil, "%s", dev.remark(d, devices, budget, chosen))
	}
	b.markViews(w.again)
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

// deviceOf collects the regions of device d.
func deviceOf(b *builder, d int, flight map[int]inFlight, fronts map[string]front) *device {
	dev := &device{flight: map[int]inFlight{}}
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
		dev.regions = append(dev.regions, r)
		dev.fronts = append(dev.fronts, f)
		dev.flight[r.stage] = flight[r.stage]
	}
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

// mark notes what a plan rematerializes.
func (b *builder) mark(d *device, p plan, redo map[*ir.Op]bool) {
	for i, r := range d.regions {
		for c := d.fronts[i].options[p.picks[i]].last; c != nil; c = c.prev {
			if o := r.nodes[c.node].o; o != nil && c.what == again {
				redo[o] = true
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
	for i, r := range d.regions {
		n := d.flight[r.stage].kept
		o := d.fronts[i].options[p.picks[i]]
		text := fmt.Sprintf("%s kept for %s", pass.Bytes(n*o.keep), regionName(r))
		if n > 1 {
			text += fmt.Sprintf(", of %d microbatches", n)
		}
		if o.work > o.keep {
			text += fmt.Sprintf(", %s rematerialized", pass.Bytes(o.work-o.keep))
		}
		parts = append(parts, part{n*o.keep + o.work - o.keep, text})
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

func regionName(r *region) string {
	if r.key == "" {
		return "the model"
	}
	return r.key
}
