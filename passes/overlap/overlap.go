package overlap

import (
	"slices"

	"ptc/internal/units"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// Defaults of the layout: a bucket as PyTorch's DistributedDataParallel has it,
// but no more than an eighth of what a function exchanges of its kind, since the
// last bucket has nothing left to overlap with; and parameters gathered one layer
// ahead.
const (
	defaultBucket   = 25 << 20
	defaultShare    = 8
	defaultPrefetch = 1
)

// MaxOpen bounds the collectives of one set of mesh axes that are started and
// not done; transports hold as many. Where another one starts, the oldest is done
// first.
const MaxOpen = 32

// Run reorders every entry function of a module of several devices, or that moves
// values between memories.
func Run(c *pass.Context, m *ir.Module) error {
	opts := optionsOf(c, m)
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		if elsewhere(f) {
			c.Remarkf(nil, "@%s: %d transfers between memories overlap with other work", f.Name, transfers(f))
		}
		if m.Devices() == 1 {
			continue
		}
		before := count(f)
		opts.arrange(f)
		after := count(f)
		started := opts.begin(f)
		if opts.kinds == nil || len(opts.kinds) > 0 { // but `overlap none`
			receiveAhead(f)
		}
		if before > 0 {
			c.Remarkf(nil, "@%s: %d collectives in %d exchanges; %d exchanges overlap with other work", f.Name, before, after, started)
		}
	}
	return nil
}

// options are what the layout says of communication.
type options struct {
	c        *pass.Context
	bucket   int64 // bytes; below 0: the default
	prefetch int
	kinds    []string // nil: all
	// early are the gathers, with the casts for them, that stand where they are to
	// start; layer numbers the layers of gathers outside of runs: one does not wait for another's.
	early map[*ir.Op]bool
	layer map[*ir.Op]int
	// kept are the results of collectives that are not started: those that replace an
	// argument, which others may still read, and what leaves a tick.
	kept map[*ir.Value]bool
}

// begins reports whether x is a collective that may be started before its result is
// needed.
func (o *options) begins(x *ir.Op) bool { return group(x) && o.obstacle(x) == "" }

// obstacle is why collective x may not be, or empty.
func (o *options) obstacle(x *ir.Op) string {
	switch {
	case !o.movable(x):
		return "the layout overlaps other kinds of collectives"
	case slices.ContainsFunc(x.Results, func(r *ir.Value) bool { return o.kept[r] }):
		return "its result replaces an argument, or is accumulated over ticks"
	}
	return ""
}

// because records why collective x is not overlapped.
func (o *options) because(x *ir.Op, why string) {
	if o.c.Asked() {
		o.c.Because(x, "`%s` of %s over %s does not overlap with other work: %s", x.Name, units.Bytes(payload(x)), over(x), why)
	}
}

// arrange puts the collectives of a function where they are to start, small ones
// together.
func (o *options) arrange(f *ir.Func) {
	o.early, o.layer, o.kept = map[*ir.Op]bool{}, map[*ir.Op]int{}, map[*ir.Value]bool{}
	for _, r := range f.Results {
		o.kept[r.Value] = o.kept[r.Value] || r.Role == ir.RoleParam || r.Role == ir.RoleState
	}
	for _, x := range f.Ops {
		if x.Name == ir.LeaveTick {
			o.kept[x.Args[1]] = true
		}
	}
	tasks := textsOf(f)
	for _, t := range tasks {
		for _, in := range t.all()[1:] {
			o.hoist(in)
		}
		o.hoist(t)
	}
	limit := o.limits(f)
	for _, t := range tasks {
		for _, t := range t.all() {
			o.merge(t, limit)
		}
	}
	write(f, tasks)
}

func optionsOf(c *pass.Context, m *ir.Module) *options {
	o := &options{c: c, bucket: -1, prefetch: defaultPrefetch}
	for _, r := range layout.Of(m).Rules {
		switch r := r.(type) {
		case *layout.Bucket:
			o.bucket = r.Bytes
		case *layout.Zero:
			if o.prefetch = defaultPrefetch; r.Prefetch != layout.Unsaid {
				o.prefetch = r.Prefetch
			}
		case *layout.Overlap:
			o.kinds = append([]string{}, r.Collectives...)
		}
	}
	return o
}

// movable reports whether o is a collective that the layout lets run concurrently with
// other work.
func (o *options) movable(x *ir.Op) bool {
	return group(x) && (o.kinds == nil || slices.Contains(o.kinds, x.Name))
}

// group reports whether x is an exchange among a group of devices.
func group(x *ir.Op) bool { return op.Has(x, op.Exchanges) }

// count is how many collectives f has in a step, of all instances and microbatches.
func count(f *ir.Func) (n int64) {
	for _, o := range f.Ops {
		if group(o) {
			n += f.TimesOf(o)
		}
	}
	return n
}
