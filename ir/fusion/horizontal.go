package fusion

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// Horizontal is the class of several kernels that have nothing to do with each other
// and are launched as one: the updates of all tensors of a layer, or the sums of
// squares of their gradients. Each is a [Section].
//
//	for sections { as its own class does }
//
// Alone of the classes it is said, not found: the attribute `kind` of the function
// names it. Other functions whose operations fall apart are refused as before.
const Horizontal Class = "horizontal"

// Section is a kernel within one of class Horizontal: the operations that are joined
// by what they compute, and the arguments that they read, some of which other sections
// may read as well.
type Section struct {
	*Kernel       // of the section alone: its arguments and results are those of F that Args and Results name
	Args    []int // of the whole function's arguments
	Results []int // of the whole function's results
}

// All are the sections of k; a kernel that has none is one.
func (k *Kernel) All() []*Section {
	if k.Class == Horizontal {
		return k.Sections
	}
	s := &Section{Kernel: k}
	for i := range k.F.Args {
		s.Args = append(s.Args, i)
	}
	for i := range k.F.Results {
		s.Results = append(s.Results, i)
	}
	return []*Section{s}
}

// Apart are the kernels of its sections.
func (k *Kernel) Apart() []*Kernel {
	var out []*Kernel
	for _, s := range k.All() {
		out = append(out, s.Kernel)
	}
	return out
}

// horizontal analyzes a function of independent sections. No section reads what
// another computes.
func (k *Kernel) horizontal() error {
	k.Class = Horizontal
	of, n := k.split()
	if n < 2 {
		return fmt.Errorf("a horizontal kernel of %d sections", n)
	}
	for s := range n {
		section, err := k.section(func(o *ir.Op) bool { return of[o] == s })
		if err != nil {
			return fmt.Errorf("section %d: %w", s, err)
		}
		k.Sections = append(k.Sections, section)
	}
	for i, r := range k.F.Results {
		if r.Value.Def == nil {
			return fmt.Errorf("result %d of a horizontal kernel is an argument", i)
		}
	}
	for i := range k.F.Args {
		if !slices.ContainsFunc(k.Sections, func(s *Section) bool { return slices.Contains(s.Args, i) }) {
			return fmt.Errorf("no section reads argument %d", i)
		}
	}
	return nil
}

// split numbers the sections in the order of their first operations, and says in which
// one each operation is.
func (k *Kernel) split() (of map[*ir.Op]int, n int) {
	to := map[*ir.Op]*ir.Op{} // another operation of the same section, or itself
	var find func(o *ir.Op) *ir.Op
	find = func(o *ir.Op) *ir.Op {
		if to[o] != o {
			to[o] = find(to[o])
		}
		return to[o]
	}
	for _, o := range k.F.Ops {
		to[o] = o
		for _, v := range o.Args {
			if v.Def != nil {
				to[find(v.Def)] = o
			}
		}
	}
	of = map[*ir.Op]int{}
	first := map[*ir.Op]int{}
	for _, o := range k.F.Ops {
		s := find(o)
		if _, known := first[s]; !known {
			first[s] = len(first)
		}
		of[o] = first[s]
	}
	return of, len(first)
}

// section is the kernel of the operations that in names.
func (k *Kernel) section(in func(*ir.Op) bool) (*Section, error) {
	s := &Section{}
	part := *k.F // which Clone takes apart from k.F
	f := &part
	var ops []*ir.Op
	reads := map[*ir.Value]bool{}
	device := false
	for _, o := range k.F.Ops {
		if !in(o) {
			continue
		}
		ops = append(ops, o)
		device = device || op.DependsOnDevice(o)
		for _, v := range o.Args {
			reads[v] = true
		}
	}
	f.Ops, f.Attrs = ops, f.Attrs.With("kind", nil)
	var args []*ir.Arg
	for i, a := range f.Args {
		if reads[a.Value] || device && a.Path == Coordinates {
			args, s.Args = append(args, a), append(s.Args, i)
		}
	}
	var results []ir.Result
	for i, r := range f.Results {
		if r.Value.Def != nil && slices.Contains(ops, r.Value.Def) {
			results, s.Results = append(results, r), append(s.Results, i)
		}
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("no result")
	}
	f.Args, f.Results = args, results
	inner, err := Analyze(f.Clone())
	s.Kernel = inner
	return s, err
}

// horizontalInPlace: within the section that computes the result, where no other reads
// the argument.
func (k *Kernel) horizontalInPlace(a, r int) bool {
	for _, s := range k.Sections {
		at, has := slices.Index(s.Args, a), slices.Index(s.Results, r)
		if has < 0 {
			if at >= 0 {
				return false
			}
			continue
		}
		if at < 0 || !s.InPlace(at, has) {
			return false
		}
	}
	return true
}
