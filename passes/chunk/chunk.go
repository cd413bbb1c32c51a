package chunk

import (
	"ptc/internal/units"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/targetinfo"
	"ptc/passes/pass"
)

// larger is how many times more elements the product must have than those rows have of
// which it is made: what is not much larger than its operand is not worth it.
const larger = 2

// told is how many times larger a product is of which a remark says why it is not cut.
// Below it are hidden activations, which other products read and remat is for.
const told = 4

// Run has large products and all that is made of them computed for some rows at a time,
// where that is possible.
func Run(c *pass.Context, m *ir.Module) error {
	limit := c.Target.Chunk
	if limit.Most < 2 {
		return nil
	}
	data := dataOf(m)
	for _, f := range m.Funcs {
		seen := map[*ir.Op]bool{}
		for {
			p := programOf(f, limit, data)
			o, axes := p.candidate(seen)
			if o == nil {
				break
			}
			if seen[o] = true; c.Spent() {
				return nil
			}
			p.chunk(c, o, axes, seen)
		}
	}
	return nil
}

// chunk cuts the region around product o; seen gets the products that are made.
func (p *program) chunk(c *pass.Context, o *ir.Op, axes []string, seen map[*ir.Op]bool) {
	r, no := p.region(o, axes)
	if no == nil {
		var n int
		n, no = r.write(seen)
		r.tell(c, n, "")
	} else if no.again {
		no = p.sweeps(c, o, r, seen)
	}
	if no == nil || no.why == "" {
		return
	}
	record := c.Because
	if o.Result().Type.Elems() > told*rowOperand(o, axes).Type.Elems() {
		record = c.Remarkf
	}
	record(o, "@%s: `%s` of %s is not chunked: %s", p.f.Name, o.Name, units.Bytes(int64(o.Result().Type.Bytes())), no.why)
}

// tell records that the region is done in n chunks.
func (r *region) tell(c *pass.Context, n int, again string) {
	if n > 1 {
		c.May("do in chunks", r.root)
		c.Remarkf(r.root, "@%s: `%s` of %s and %d operations that read it%s are computed in %d chunks of %d rows", r.p.f.Name, r.root.Name,
			units.Bytes(int64(r.root.Result().Type.Bytes())), len(r.in)-1, again, n, ceil(r.count(), n))
	}
}

// refusal says why a product is not cut, or nothing where that is of no interest.
type refusal struct {
	why string
	// again: what is made of the product comes back from outside, so that one sweep does
	// not do; two may.
	again bool
}

// program is a function and who reads what in it.
type program struct {
	f      *ir.Func
	limit  targetinfo.Chunk
	data   data
	at     map[*ir.Op]int
	users  map[*ir.Value][]*ir.Op
	result map[*ir.Value]bool
}

func programOf(f *ir.Func, limit targetinfo.Chunk, data data) *program {
	p := &program{f: f, limit: limit, data: data, at: make(map[*ir.Op]int, len(f.Ops)), users: make(map[*ir.Value][]*ir.Op, len(f.Ops)), result: map[*ir.Value]bool{}}
	for i, o := range f.Ops {
		p.at[o] = i
		for _, v := range o.Args {
			p.users[v] = append(p.users[v], o)
		}
	}
	for _, r := range f.Results {
		p.result[r.Value] = true
	}
	return p
}

// candidate is the first product that was not seen and is worth it, and the axes of its
// rows, major first.
func (p *program) candidate(seen map[*ir.Op]bool) (*ir.Op, []string) {
	var of map[*ir.Value]bool
	for _, o := range p.f.Ops {
		if seen[o] || op.Of(o).Class != op.Contraction || o.Run != nil || int64(o.Result().Type.Bytes()) < p.limit.Bytes {
			continue
		}
		if of == nil {
			of = p.data.in(p.f)
		}
		if axes := rowAxes(o, of); axes != nil {
			return o, axes
		}
	}
	return nil, nil
}

// rowAxes are the axes of o's result along which one operand has rows, and the other, which
// is a weight, has none; nil where the result is not much larger than those rows.
func rowAxes(o *ir.Op, data map[*ir.Value]bool) []string {
	for i, x := range o.Args {
		w := o.Args[1-i]
		if data[w] || o.Result().Type.Elems() <= larger*x.Type.Elems() {
			continue
		}
		var axes []string
		for _, a := range o.Result().Type.Axes {
			if x.Type.Has(a.Name) && !w.Type.Has(a.Name) && a.Size > 1 {
				axes = append(axes, a.Name)
			}
		}
		if axes != nil {
			return axes
		}
	}
	return nil
}

// rowOperand is the operand of o that has rows along axes.
func rowOperand(o *ir.Op, axes []string) *ir.Value {
	if o.Args[0].Type.Has(axes[0]) {
		return o.Args[0]
	}
	return o.Args[1]
}
