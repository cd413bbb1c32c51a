package fuse

import (
	"slices"

	"ptc/internal/units"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// sumInParts sums long contractions of few results in parts, as many as the target says: a
// call of such a kernel becomes two, of which the first leaves the partial sums in memory
// and the second adds them up (package fusion, InParts). What is in memory in between is
// a value as any other, so that all that plans and proves memory, order and waits needs
// to know nothing of it.
func sumInParts(c *pass.Context, m *ir.Module, shared *kernels) {
	if c.Target.Parts == nil {
		return
	}
	p := &parting{c: c, shared: shared, of: map[cutLike]*fusion.Parts{}, numbers: map[*ir.Func][]int64{}}
	for _, f := range slices.Clone(m.Funcs) { // which gets more kernels
		if f.Class == ir.Kernel {
			continue
		}
		calls, bytes := p.calls, p.bytes
		p.rewrite(f)
		if n := p.calls - calls; n > 0 {
			c.Remarkf(nil, "@%s: split-K in %s, with partial sums of %s", f.Name, units.Plural(n, "product"), units.Bytes(p.bytes-bytes))
		}
	}
}

// parting is the state of rewriting the calls of a module.
type parting struct {
	c      *pass.Context
	shared *kernels
	of     map[cutLike]*fusion.Parts // nil for kernels that stay
	// numbers are the parts of each product of a kernel.
	numbers map[*ir.Func][]int64
	calls   int   // that were rewritten
	bytes   int64 // of their partial sums
}

// cutLike is kernel f, cut as kernel to is.
type cutLike struct{ f, to *ir.Func }

func (p *parting) rewrite(f *ir.Func) {
	var out []*ir.Op
	for _, o := range f.Ops {
		if two := p.split(f, o); two != nil {
			p.c.May("sum in parts", o)
			out = append(out, two...)
			p.calls++
		} else {
			out = append(out, o)
		}
	}
	f.Ops = out
}

// inParts is kernel k in parts, or nil where the target wants none or k cannot have them.
func (p *parting) inParts(k *ir.Func) *fusion.Parts {
	return p.cut(cutLike{k, k}, func(x *fusion.Kernel) int64 {
		n := p.c.Target.Parts(x)
		p.numbers[k] = append(p.numbers[k], n)
		return n
	})
}

// like is kernel k cut as kernel to is.
func (p *parting) like(k, to *ir.Func) *fusion.Parts {
	left := p.numbers[to]
	return p.cut(cutLike{k, to}, func(*fusion.Kernel) int64 {
		n := int64(1)
		if len(left) > 0 {
			n, left = left[0], left[1:]
		}
		return n
	})
}

func (p *parting) cut(k cutLike, parts func(*fusion.Kernel) int64) *fusion.Parts {
	x, known := p.of[k]
	if !known {
		var err error
		if x, err = fusion.InParts(k.f, parts); err != nil {
			x = nil
		}
		p.of[k] = x
	}
	return x
}

// split is call o as two, or nil where it stays.
func (p *parting) split(f *ir.Func, o *ir.Op) []*ir.Op {
	if o.Callee == nil || p.c.Spent() {
		return nil
	}
	whole := p.inParts(o.Callee)
	if whole == nil {
		return nil
	}
	products := p.call(o, whole.Products, nil, whole.ProductArgs, whole.ProductResults)
	var sums []*ir.Value
	for _, r := range whole.Products.Results[:whole.N] {
		sums = append(sums, f.NewValue(r.Value.Type.Clone(), products))
	}
	sum := p.call(o, whole.Sum, sums, whole.SumArgs, whole.SumResults)
	if o.First != nil && !p.first(o, whole, products, sum) {
		return nil
	}
	for _, v := range sums {
		p.bytes += int64(v.Type.Bytes())
	}
	products.Results = append(sums, products.Results...)
	for _, c := range []*ir.Op{products, sum} {
		c.Callee = p.shared.add(c.Callee)
		if c.First != nil {
			c.First = p.shared.add(c.First)
		}
		for _, v := range c.Results {
			v.Def = c
		}
	}
	return []*ir.Op{products, sum}
}

// call is a call of kernel k where o is: of the values before, and those of o's operands
// and results that are named.
func (p *parting) call(o *ir.Op, k *ir.Func, before []*ir.Value, args, results []int) *ir.Op {
	c := &ir.Op{Name: op.Call, Args: slices.Clone(before), Attrs: o.Attrs, Slot: o.Slot, Callee: k, Scope: o.Scope, Pos: o.Pos}
	for _, i := range args {
		c.Args = append(c.Args, o.Args[i])
	}
	for _, i := range results {
		c.Results = append(c.Results, o.Results[i])
	}
	return c
}

// first gives both calls the kernels of the first tick of o's task, in which nothing is
// added to. It reports whether these are cut alike.
func (p *parting) first(o *ir.Op, later *fusion.Parts, products, sum *ir.Op) bool {
	whole := p.like(o.First, o.Callee)
	if whole == nil || whole.N != later.N {
		return false
	}
	for _, x := range []struct {
		call  *ir.Op
		first *ir.Func
	}{{products, whole.Products}, {sum, whole.Sum}} {
		if slices.ContainsFunc(x.call.Args, enters) {
			x.call.First = x.first
		} else if fusion.Key(x.call.Callee) != fusion.Key(x.first) {
			return false
		}
	}
	return true
}

// enters reports whether v is what the tick before left.
func enters(v *ir.Value) bool { return v.Def != nil && v.Def.Name == op.EnterTick }
