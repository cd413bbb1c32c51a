package overlap

import (
	"slices"
	"strings"

	"ptc/internal/units"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// kind is what the members of a bucket have in common.
type kind struct {
	name, reduce, over string
	dtype              ir.DType
	early              bool // stands where it is to start
	layer, ahead       int  // of what does
}

func (o *options) kindOf(x *ir.Op) kind {
	return kind{x.Name, x.Attrs.Text("reduce"), strings.Join(x.Attrs.Names("over"), ","), x.Args[0].Type.DType, o.early[x], o.layer[x], x.Ahead}
}

// sum is the kind under which bytes are summed up for the size of a bucket.
func (k kind) sum() kind {
	k.layer, k.ahead = 0, 0
	return k
}

// mergeable are the collectives that take several operands.
func mergeable(x *ir.Op) bool {
	return op.Has(x, op.Exchanges) && op.Of(x).MaxArgs < 0
}

// bucket is collectives that become one, where the last of them stands.
type bucket struct {
	members []*ir.Op
	at      int // of the last one, in the text that is being made
	bytes   int64
	part    int
	behind  bool // another collective
}

// merge makes buckets of collectives of one kind in a text. A bucket ends when it is
// full, and before whatever reads a result of it; gathers that stand where they are to
// start, with the next kernel; and before a run, which takes long, where it is half full.
func (o *options) merge(t *text, limit func(kind) int64) {
	m := &merger{c: o.c, part: o.parts(t, limit), open: map[kind]*bucket{}, in: map[*ir.Value]kind{}, out: make([]*ir.Op, 0, len(t.ops))}
	from, to := t.body()
	m.out = append(m.out, t.ops[:from]...)
	for _, x := range t.ops[from:to] {
		for _, a := range x.Args {
			if k, ok := m.in[a]; ok {
				m.end(k)
			}
		}
		if t.runs[x] != nil {
			m.beforeRun(limit)
		}
		if !group(x) {
			for _, k := range m.gathering {
				m.end(k)
			}
			m.gathering = m.gathering[:0]
		}
		if !group(x) || !mergeable(x) {
			m.out = append(m.out, x)
			continue
		}
		m.add(o.kindOf(x), x, limit)
	}
	for _, k := range slices.Clone(m.order) { // what nobody reads before the end
		m.end(k)
	}
	m.out = slices.DeleteFunc(m.out, func(x *ir.Op) bool { return x == nil })
	t.ops = append(m.out, t.ops[to:]...)
}

// merger has the buckets that are open at a place of a text.
type merger struct {
	c         *pass.Context
	part      map[*ir.Op]int // of the bytes of an instance
	open      map[kind]*bucket
	order     []kind             // in which those that are open began
	in        map[*ir.Value]kind // results of open buckets
	gathering []kind
	out       []*ir.Op
}

func (m *merger) add(k kind, x *ir.Op, limit func(kind) int64) {
	n := payload(x)
	part, parts := m.part[x]
	if b := m.open[k]; b != nil {
		full := part != b.part || !parts && b.bytes+n > limit(k)
		if full && m.c.Asked() {
			m.c.Because(x, "`%s` over %s is not merged with the previous %d: the bucket of %s is full", x.Name, k.over, len(b.members), units.Bytes(b.bytes))
		}
		if full || !m.c.May("one exchange with", b.members[len(b.members)-1]) {
			m.end(k)
		}
	}
	if m.open[k] == nil {
		m.open[k] = &bucket{part: part}
		m.order = append(m.order, k)
		if k.early {
			m.gathering = append(m.gathering, k)
		}
	}
	b := m.open[k]
	b.members, b.at = append(b.members, x), len(m.out)
	b.bytes += n
	b.behind = b.behind || slices.ContainsFunc(x.Args, func(v *ir.Value) bool { return v.Def != nil && group(v.Def) })
	m.out = append(m.out, nil) // where the bucket stands if x is the last of it
	for _, r := range x.Results {
		m.in[r] = k
	}
}

// end puts the collective of a bucket into the text, where the last of it stands; what
// reads another collective, which is to overlap with something, as late as it may.
func (m *merger) end(k kind) {
	b := m.open[k]
	if b == nil {
		return
	}
	delete(m.open, k)
	m.order = slices.DeleteFunc(m.order, func(o kind) bool { return o == k })
	for _, x := range b.members {
		for _, r := range x.Results {
			delete(m.in, r)
		}
	}
	if b.behind {
		m.out = append(m.out, b.op())
	} else {
		m.out[b.at] = b.op()
	}
}

// beforeRun ends the buckets that need not wait for more.
func (m *merger) beforeRun(limit func(kind) int64) {
	for _, k := range slices.Clone(m.order) {
		if 2*m.open[k].bytes >= limit(k) {
			m.end(k)
		}
	}
}

// parts divides what one instance of a run exchanges of a kind, in order, into as few
// equal parts as a bucket may have by default; a collective is of the part in which the
// middle of it is. So every instance has no more buckets than its bytes need, where the
// limit would leave a small one at the end of each.
func (o *options) parts(t *text, limit func(kind) int64) map[*ir.Op]int {
	part := map[*ir.Op]int{}
	if t.run == nil || o.bucket >= 0 {
		return part
	}
	all, sofar := map[kind]int64{}, map[kind]int64{}
	for _, x := range t.ops {
		if group(x) && mergeable(x) {
			all[o.kindOf(x)] += payload(x)
		}
	}
	for _, x := range t.ops {
		if group(x) && mergeable(x) {
			k, n := o.kindOf(x), payload(x)
			parts := (all[k] + limit(k) - 1) / max(limit(k), 1)
			part[x] = int((2*sofar[k] + n) * parts / (2 * all[k]))
			sofar[k] += n
		}
	}
	return part
}

// limits gives the bytes of a bucket of each kind. The share is of what the function
// exchanges in a step, with every microbatch. A share of one tick of a task would be
// smaller, and leave apart what stands side by side, such as the gradients of what three
// projections read; nor is it needed for work to overlap with the last bucket, since in a tick a
// bucket ends before its first reader, which is near. What microbatches add up to is
// exchanged by one task, once, and has the same share either way.
func (o *options) limits(f *ir.Func) func(kind) int64 {
	all := map[kind]int64{}
	for _, x := range f.Ops {
		if group(x) && mergeable(x) {
			all[o.kindOf(x).sum()] += payload(x) * f.TimesOf(x)
		}
	}
	return func(k kind) int64 {
		if o.bucket >= 0 {
			return o.bucket
		}
		return min(defaultBucket, all[k.sum()]/defaultShare)
	}
}

// payload is the larger of what one device gives and takes, in bytes, for one instance
// and one microbatch.
func payload(x *ir.Op) int64 {
	bytes := func(list []*ir.Value) (n int64) {
		for _, v := range list {
			n += int64(v.Type.Bytes())
		}
		return n
	}
	return max(bytes(x.Args), bytes(x.Results))
}

// op is the collective of all members; of a single one, itself.
func (b *bucket) op() *ir.Op {
	first := b.members[0]
	if len(b.members) == 1 {
		return first
	}
	m := &ir.Op{Name: first.Name, Attrs: first.Attrs, Scope: first.Scope, Pos: first.Pos}
	m.Task, m.Run, m.Ahead = first.Task, first.Run, first.Ahead
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
