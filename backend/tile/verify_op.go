package tile

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

type axis = op.StridedAxis

// op checks one operation and defines its results.
func (v *verifier) op(o *Op) error {
	if err := v.uses(o); err != nil {
		return err
	}
	var err error
	switch o.Kind {
	case For:
		err = v.loop(o)
	case If:
		err = v.branch(o)
	default:
		err = v.plain(o)
	}
	if err != nil {
		return err
	}
	for _, r := range o.Results {
		if err := v.define(r); err != nil {
			return err
		}
	}
	return nil
}

// uses checks that what o reads is there to be read.
func (v *verifier) uses(o *Op) error {
	for _, a := range o.Args {
		if o.Kind == Wait && v.defined(a) {
			continue
		}
		if err := v.read(a); err != nil {
			return err
		}
	}
	ranges := slices.Clone(o.Over)
	if o.Range != nil && o.Kind != For {
		ranges = append(ranges, o.Range)
	}
	for _, x := range o.At {
		for _, t := range x.Terms {
			if t.Value != nil {
				if err := v.read(t.Value); err != nil {
					return err
				}
				continue
			}
			ranges = append(ranges, t.Range)
		}
	}
	for _, r := range ranges {
		if !slices.Contains(v.top().ranges, r) {
			return fmt.Errorf("found range %s; expected one of the phase or of a loop around", r.Name)
		}
	}
	return nil
}

func (v *verifier) defined(x *Value) bool {
	return slices.ContainsFunc(v.frames, func(k *known) bool { return k.values[x] })
}

// read checks that the elements of x are known here.
func (v *verifier) read(x *Value) error {
	if !v.defined(x) {
		return fmt.Errorf("found a tile %s that is not defined here; expected one from before, in this block or around it", x.Type)
	}
	copied := x.Def != nil && x.Def.Kind == Copy
	if copied && !slices.ContainsFunc(v.frames, func(k *known) bool { return k.waited[x] }) {
		return fmt.Errorf("found a copy %s read while it is under way; expected a wait for it before, in this block or around it", x.Type)
	}
	return nil
}

func (v *verifier) define(x *Value) error {
	if v.defined(x) {
		return fmt.Errorf("found a tile %s defined twice; expected once", x.Type)
	}
	if err := v.typ(x.Type); err != nil {
		return err
	}
	v.top().values[x] = true
	return nil
}

func (v *verifier) typ(t Type) error {
	n, ok := int64(1), true
	for i, d := range t.Dims {
		if !slices.Contains(v.top().ranges, d) || d.Size == 1 {
			return fmt.Errorf("found a tile %s; expected dimensions that are ranges around it, larger than 1", t)
		}
		if i > 0 && t.Dims[i-1].order >= d.order {
			return fmt.Errorf("found a tile %s; expected its dimensions in the order of the ranges, each once", t)
		}
		if n, ok = mul(n, d.Size); !ok || n > maxTile {
			return fmt.Errorf("found a tile %s; expected at most %d elements", t, int64(maxTile))
		}
	}
	if t.DType.Bits() == 0 {
		return fmt.Errorf("found a tile without a dtype; expected one")
	}
	if l := t.Layout; l.Along != nil && (t.Space != Shared || len(t.Dims) != 2 || !t.Has(l.Along) || l.N < 1 || l.N > maxSize) {
		return fmt.Errorf("found a tile %s; expected a layout along one of two dimensions of a shared tile, with a size from 1 on", t)
	}
	return nil
}

// plain is an operation without blocks.
func (v *verifier) plain(o *Op) error {
	want := 0
	if o.Kind.Defines() {
		want = 1
	}
	if len(o.Results) != want {
		return fmt.Errorf("found %d results; expected %d", len(o.Results), want)
	}
	var given Type
	if want == 1 {
		given = o.Result().Type
		if err := v.typ(given); err != nil {
			return err
		}
	}
	t, err := o.check(given)
	if err != nil {
		return err
	}
	if want == 1 && !t.same(given) {
		return fmt.Errorf("found a result %s; expected %s", given, t)
	}
	switch {
	case o.Kind == Copy && given.Space != Shared:
		return fmt.Errorf("found a copy into registers; expected shared memory")
	case o.Kind == Wait:
		v.top().waited[o.Args[0]] = true
	case o.Kind == Index && o.Range.Extent > 1<<31:
		return fmt.Errorf("found positions up to %d; expected them to be i32", o.Range.Extent-1)
	case o.Kind == Random:
		_, _, err := o.At[0].bounds()
		return err
	}
	if o.Kind.hasView() {
		return v.access(o)
	}
	return nil
}

// access checks positions, who stores, and that work memory is written before.
func (v *verifier) access(o *Op) error {
	w := o.View
	if !slices.Contains(v.p.Views, w) {
		return fmt.Errorf("found a view that is not declared; expected one that is")
	}
	for i, x := range o.At {
		lo, hi, err := x.bounds()
		if err != nil {
			return err
		}
		if size := int64(w.Axes[i].Size); !x.looked() && (lo < 0 || hi >= size) {
			return fmt.Errorf("found positions %d to %d along %s of %s; expected them within 0 to %d", lo, hi, w.Axes[i].Name, w.Name, size-1)
		}
	}
	b := w.Buffer
	if o.Kind == Load || o.Kind == Copy {
		if b.Use == Work && !v.stored[b] {
			return fmt.Errorf("found a load of work %s, which nothing stores before; expected a store, in this phase by the same task or in an earlier one", b.Name)
		}
		return nil
	}
	v.stored[b] = true
	return v.apart(o)
}

// apart checks that the tasks of the phase store different elements: that the place
// depends on every range that numbers tasks. Where it depends on a tile, or on what an
// if asks, that is not known from the text.
func (v *verifier) apart(o *Op) error {
	if v.guards > 0 || slices.ContainsFunc(o.At, Affine.looked) {
		return nil
	}
	for _, r := range v.phase.Grid {
		moves := false
		for i, x := range o.At {
			for _, t := range x.Terms {
				moves = moves || t.Range == r && t.Coef != 0 && o.View.Axes[i].Stride != 0
			}
		}
		if r.Blocks() > 1 && !moves {
			return fmt.Errorf("found a place in %s that is the same for all %d tasks along %s; expected each to store elements of its own", o.View.Name, r.Blocks(), r.Name)
		}
	}
	return nil
}

// bounds are the least and the largest position that x takes, as far as ranges go.
func (x Affine) bounds() (lo, hi int64, err error) {
	lo, hi = x.Const, x.Const
	ok := lo >= -maxSize && lo <= maxSize
	for _, t := range x.Terms {
		ok = ok && t.Coef >= -maxSize && t.Coef <= maxSize
		if t.Value != nil || !ok {
			continue
		}
		n, fits := mul(t.Coef, t.Range.Extent-1)
		if n < 0 {
			lo, ok = add(lo, n, fits)
		} else {
			hi, ok = add(hi, n, fits)
		}
	}
	if !ok {
		return 0, 0, fmt.Errorf("found an index whose positions are beyond all memory; expected constants and factors up to %d", int64(maxSize))
	}
	return lo, hi, nil
}

func (v *verifier) loop(o *Op) error {
	l := o.Loop
	for _, x := range []*Value{l.From, l.To} {
		if x == nil {
			continue
		}
		if err := v.read(x); err != nil {
			return err
		}
		if x.Type.DType != ir.I32 || len(x.Type.Dims) > 0 {
			return fmt.Errorf("found a bound %s; expected an i32 scalar", x.Type)
		}
	}
	if l.Stages < 1 || l.Stages > maxStages {
		return fmt.Errorf("found %d stages; expected 1 to %d", l.Stages, maxStages)
	}
	if len(l.Carry) != len(o.Args) || len(l.Carry) != len(o.Results) {
		return fmt.Errorf("found %d tiles carried, %d at first and %d results; expected as many of each", len(l.Carry), len(o.Args), len(o.Results))
	}
	for i, c := range l.Carry {
		if err := v.typ(c.Type); err != nil {
			return err
		}
		if !c.Type.same(o.Args[i].Type) || !c.Type.same(o.Results[i].Type) || c.Type.Space != Reg || o.Results[i].Type.Space != Reg {
			return fmt.Errorf("found %s carried, %s at first and %s as the result; expected one type, in registers inside and after", c.Type, o.Args[i].Type, o.Results[i].Type)
		}
	}
	return v.inner(func() error {
		for _, c := range l.Carry {
			v.top().values[c] = true
		}
		if err := v.introduce(o.Range); err != nil {
			return err
		}
		if err := v.ops(l.Body); err != nil {
			return err
		}
		return v.yields(l.Body, l.Carry)
	})
}

func (v *verifier) branch(o *Op) error {
	if t := o.Args[0].Type; len(o.Args) != 1 || t.DType != ir.Bool || len(t.Dims) > 0 {
		return fmt.Errorf("found a condition %s; expected a bool scalar", t)
	}
	for _, r := range o.Results {
		if r.Type.Space != Reg {
			return fmt.Errorf("found a result %s; expected one in registers", r.Type)
		}
	}
	v.guards++
	defer func() { v.guards-- }()
	for _, b := range []*Block{o.Then, o.Else} {
		if err := v.inner(func() error {
			if err := v.ops(b); err != nil {
				return err
			}
			return v.yields(b, o.Results)
		}); err != nil {
			return err
		}
	}
	return nil
}
