package tune

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"ptc/backend/cpu/emit"
	"ptc/backend/cpu/llvm"
	"ptc/backend/cpu/llvm/target"
	"ptc/backend/cpu/lower"
	"ptc/backend/kernel"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/runtime/native"
	"ptc/runtime/program"
)

// Options of a search.
type Options struct {
	Threads int     // of the team, at least 1
	Seconds float64 // for a kernel, about; 0: DefaultSeconds
	// Known are schedules from before, for the same target. Their kernels are not measured
	// again, and the report's table has them, whatever plan they are of.
	Known *schedule.Table
	// Done, if not nil, is told of each kernel as soon as it is measured. The table of
	// the report has it by then.
	Done func(*Report, *Kernel) error
}

const (
	// DefaultSeconds is for how long the ways to cut a kernel are measured.
	DefaultSeconds = 2.0
	// MinGain is by how much faster than the compiler's own a way must be, as a share.
	MinGain = 0.02
)

// Plan measures the kernels of p, those of the most work first. Where ctx ends, so does
// the search, after the kernel that is under way; the report has what was found, and the
// error is ctx's.
func Plan(ctx context.Context, p *program.Plan, o Options) (*Report, error) {
	if o.Threads < 1 || o.Seconds < 0 {
		return nil, fmt.Errorf("%d threads, %g seconds", o.Threads, o.Seconds)
	}
	if o.Seconds == 0 {
		o.Seconds = DefaultSeconds
	}
	tgt, err := target.Resolve(p.Target)
	if err != nil {
		return nil, err
	}
	r := &Report{Version: Version, Target: p.Target, Threads: o.Threads, Kernels: []*Kernel{}, Table: schedule.NewTable(p.Target)}
	for _, key := range o.Known.Keys() {
		s, _ := o.Known.Of(key)
		r.Table.Set(key, s, o.Known.Note(key))
	}
	parts, err := partsOf(p)
	if err != nil {
		return nil, err
	}
	lib, err := llvm.Load()
	if err != nil {
		return nil, fmt.Errorf("measuring kernels needs libLLVM: %w", err)
	}
	r.LLVM, r.CPU = lib.Version(), native.DescribeCPU().Model
	team, err := native.NewTeam(o.Threads)
	if err != nil {
		return nil, err
	}
	defer team.Close()
	s := &search{Options: o, lib: lib, target: tgt, machine: emit.Machine(tgt), team: team, report: r}
	for _, x := range parts {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		if err := s.part(x); err != nil {
			return r, err
		}
	}
	return r, nil
}

// part is a kernel of a plan, or a section of one.
type part struct {
	*fusion.Kernel
	name, key string
	flops     int64
}

// partsOf lists what the kernels of p are made of, each once, those of the most work
// first.
func partsOf(p *program.Plan) ([]*part, error) {
	var out []*part
	seen := map[string]bool{}
	head := ir.Print(&ir.Module{Level: ir.Fused, Name: "kernels"})
	for _, k := range p.Kernels {
		m, errs := ir.Parse(k.Name, []byte(head+"\n"+k.IR))
		if len(errs) > 0 {
			return nil, fmt.Errorf("kernel %s of the plan: %w", k.Name, errs)
		}
		if len(m.Funcs) != 1 {
			return nil, fmt.Errorf("kernel %s of the plan: found %d functions; expected one", k.Name, len(m.Funcs))
		}
		whole, err := fusion.Analyze(m.Funcs[0])
		if err != nil {
			return nil, fmt.Errorf("kernel %s of the plan: %w", k.Name, err)
		}
		all := whole.Apart()
		for i, x := range all {
			one := &part{Kernel: x, name: k.Name, key: fusion.Key(x.F), flops: fusion.Flops(x.F)}
			if len(all) > 1 {
				one.name = fmt.Sprintf("%s, section %d", k.Name, i)
			}
			if !seen[one.key] {
				seen[one.key] = true
				out = append(out, one)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *part) int { return cmp.Compare(b.flops, a.flops) })
	return out, nil
}

// search is the state of a search.
type search struct {
	Options
	lib     *llvm.Library
	target  target.Target
	machine kernel.Machine
	team    *native.Team
	report  *Report
}

// part measures one part, if there is anything to choose.
func (s *search) part(x *part) error {
	if _, ok := s.Known.Of(x.key); ok {
		s.report.Known++
		return nil
	}
	choices, err := lower.Choices(x.Kernel, s.machine)
	if err != nil {
		return err
	}
	if len(choices) < 2 {
		return nil
	}
	k := &Kernel{Name: x.name, Key: x.key, Flops: x.flops, Choices: len(choices), Own: choices[0], Best: choices[0]}
	if err := s.measure(x, choices, k); err != nil {
		k.NotMeasured = err.Error()
	} else {
		s.report.Table.Set(x.key, k.Best, k.Note())
	}
	s.report.Kernels = append(s.report.Kernels, k)
	if s.Done == nil {
		return nil
	}
	return s.Done(s.report, k)
}
