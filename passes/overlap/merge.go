package overlap

import (
	"strings"

	"ptc/ir"
	"ptc/ir/op"
)

// kind is what the members of a bucket have in common.
type kind struct {
	name, reduce, over string
	dtype              ir.DType
	ahead              bool // stands where it is to start
}

func (o *options) kindOf(x *ir.Op) kind {
	return kind{x.Name, x.Attrs.Text("reduce"), strings.Join(x.Attrs.Names("over"), ","), x.Args[0].Type.DType, o.ahead[x] != nil}
}

// mergeable are the collectives that take several operands.
func mergeable(x *ir.Op) bool {
	return op.Has(x, op.Exchanges) && op.Of(x).MaxArgs < 0
}

// bucket is collectives that become one, where the last of them stands.
type bucket struct {
	members []*ir.Op
	bytes   int64
}

// merge makes buckets of collectives of one kind. A bucket ends when it is
// full, and before whatever reads a result of it; gathers that stand
// where they are to start, with the next kernel.
func (o *options) merge(f *ir.Func) {
	limit := o.limits(f)
	open := map[kind]*bucket{}
	in := map[*ir.Value]kind{} // results of open buckets
	var gathering []kind
	out := make([]*ir.Op, 0, len(f.Ops))
	end := func(k kind) {
		b := open[k]
		if b == nil {
			return
		}
		delete(open, k)
		for _, x := range b.members {
			for _, r := range x.Results {
				delete(in, r)
			}
		}
		out = append(out, b.op(f))
	}
	for _, x := range f.Ops {
		for _, a := range x.Args {
			if k, ok := in[a]; ok {
				end(k)
			}
		}
		if !group(x) {
			for _, k := range gathering {
				end(k)
			}
			gathering = gathering[:0]
		}
		if !group(x) || !mergeable(x) {
			out = append(out, x)
			continue
		}
		k := o.kindOf(x)
		n := payload(x)
		if b := open[k]; b != nil && b.bytes+n > limit(k) {
			end(k)
		}
		if open[k] == nil {
			open[k] = &bucket{}
			if k.ahead {
				gathering = append(gathering, k)
			}
		}
		b := open[k]
		b.members = append(b.members, x)
		b.bytes += n
		for _, r := range x.Results {
			in[r] = k
		}
	}
	// What nobody reads before the end, in the order in which it began.
	for _, x := range f.Ops {
		if group(x) && mergeable(x) {
			if b := open[o.kindOf(x)]; b != nil && b.members[0] == x {
				end(o.kindOf(x))
			}
		}
	}
	f.Ops = out
}

// limits gives the bytes of a bucket of each kind.
func (o *options) limits(f *ir.Func) func(kind) int64 {
	all := map[kind]int64{}
	for _, x := range f.Ops {
		if group(x) && mergeable(x) {
			all[o.kindOf(x)] += payload(x)
		}
	}
	return func(k kind) int64 {
		if o.bucket >= 0 {
			return o.bucket
		}
		return min(defaultBucket, all[k]/defaultShare)
	}
}

// payload is the larger of what one device gives and takes, in bytes.
func payload(x *ir.Op) int64 {
	var give, take int64
	for _, v := range x.Args {
		give += int64(v.Type.Bytes())
	}
	for _, v := range x.Results {
		take += int64(v.Type.Bytes())
	}
	return max(give, take)
}

// op is the collective of all members; of a single one, itself.
func (b *bucket) op(f *ir.Func) *ir.Op {
	first := b.members[0]
	if len(b.members) == 1 {
		return first
	}
	m := &ir.Op{Name: first.Name, Attrs: first.Attrs, Scope: first.Scope, Pos: first.Pos}
	var axes ir.Names
	for _, x := range b.members {
		m.Args = append(m.Args, x.Args...)
		m.Results = append(m.Results, x.Results...)
		m.Scope = common(m.Scope, x.Scope)
		if a := x.Attrs.Text("axis"); a != "" {
			axes = append(axes, a)
		}
	}
	for _, r := range m.Results {
		r.Def = m
	}
	if axes != nil {
		m.Attrs = m.Attrs.With("axis", nil).With("axes", axes)
	}
	return m
}

// common is the module path that two have in common.
func common(a, b string) string {
	if a == b {
		return a
	}
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return strings.Join(x[:n], ".")
}
