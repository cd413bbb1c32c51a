package overlap

import (
	"slices"

	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// Defaults of the layout: a bucket as PyTorch's DistributedDataParallel has it,
// but no more than an eighth of what a function exchanges of its kind, since the
// last bucket has nothing left to run beside; and parameters gathered one layer
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
	opts := optionsOf(m)
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		if elsewhere(f) {
			c.Remarkf(nil, "@%s: %d transfers between memories beside other work", f.Name, transfers(f))
		}
		if m.Devices() == 1 {
			continue
		}
		opts.hoist(f)
		before := count(f)
		opts.merge(f)
		after := count(f)
		started := opts.begin(f)
		if before > 0 {
			c.Remarkf(nil, "@%s: %d collectives in %d exchanges, %d of them beside other work", f.Name, before, after, started)
		}
	}
	return nil
}

// options are what the layout says of communication.
type options struct {
	bucket   int64 // bytes; below 0: the default
	prefetch int
	kinds    []string // nil: all
	// ahead are the gathers of a function that stand where they are to start, by
	// the operation before which that is.
	ahead map[*ir.Op]*ir.Op
}

func optionsOf(m *ir.Module) *options {
	o := &options{bucket: -1, prefetch: defaultPrefetch}
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

// movable reports whether o is a collective that the layout lets run beside
// other work.
func (o *options) movable(x *ir.Op) bool {
	return group(x) && (o.kinds == nil || slices.Contains(o.kinds, x.Name))
}

// group reports whether x is an exchange among a group of devices.
func group(x *ir.Op) bool { return op.Has(x, op.Exchanges) }

func count(f *ir.Func) int {
	n := 0
	for _, o := range f.Ops {
		if group(o) {
			n++
		}
	}
	return n
}

// hoist moves each collective up: behind the operation that makes its last
// operand, or for a gather of what is there for longer, to the layer that runs
// before.
func (o *options) hoist(f *ir.Func) {
	o.ahead = o.gathers(f)
	waits := map[*ir.Op]int{}           // operands that are not there yet
	readers := map[*ir.Value][]*ir.Op{} // hoisted collectives that read a value
	early := map[*ir.Op][]*ir.Op{}      // gathers to stand before an operation
	moved := map[*ir.Op]bool{}
	for _, x := range f.Ops {
		if before := o.ahead[x]; before != nil {
			early[before] = append(early[before], x)
			moved[x] = true
			continue
		}
		if !group(x) {
			continue
		}
		for _, a := range x.Args {
			if a.Def != nil {
				waits[x]++
				readers[a] = append(readers[a], x)
			}
		}
		moved[x] = waits[x] > 0
	}
	out := make([]*ir.Op, 0, len(f.Ops))
	var emit func(x *ir.Op)
	emit = func(x *ir.Op) {
		out = append(out, x)
		for _, r := range x.Results {
			for _, c := range readers[r] {
				if waits[c]--; waits[c] == 0 {
					emit(c)
				}
			}
		}
	}
	for _, x := range f.Ops {
		for _, g := range early[x] {
			emit(g)
		}
		if !moved[x] {
			emit(x)
		}
	}
	f.Ops = out
}

// gathers says before which operation each gather is to stand of what is there for
// longer, as parameters are from the beginning and in the backward phase what the
// forward phase left in shards: where the layer begins that is `prefetch` layers
// before its own, in the order in which the function gathers them. A layer is the
// gathers, one after the other, for one instance of a repeated module.
func (o *options) gathers(f *ir.Func) map[*ir.Op]*ir.Op {
	out := map[*ir.Op]*ir.Op{}
	if o.prefetch <= 0 {
		return out
	}
	var begins []*ir.Op // of each layer: its first operation
	var fresh []int     // layers that have none yet
	ahead := map[*ir.Op]int{}
	layer := ""
	for _, x := range f.Ops {
		if !o.movable(x) {
			for _, k := range fresh {
				begins[k] = x
			}
			fresh = fresh[:0]
			continue
		}
		if !grows(x) {
			continue
		}
		if l := layerOf(x.Scope); len(begins) == 0 || l != layer {
			layer = l
			fresh = append(fresh, len(begins))
			begins = append(begins, nil)
		}
		ahead[x] = max(0, len(begins)-1-o.prefetch)
	}
	index := make(map[*ir.Op]int, len(f.Ops))
	for i, x := range f.Ops {
		index[x] = i
	}
	for x, k := range ahead {
		there := func(v *ir.Value) bool { return v.Def == nil || index[v.Def] < index[begins[k]] }
		if begins[k] != nil && !slices.ContainsFunc(x.Args, func(v *ir.Value) bool { return !there(v) }) {
			out[x] = begins[k]
		}
	}
	return out
}

// grows reports whether x is a gather, whose result takes more memory than what it
// reads.
func grows(x *ir.Op) bool { return op.Has(x, op.Gathers) && !op.Has(x, op.Scatters) }
