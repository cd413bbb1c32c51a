package lower

import (
	"fmt"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// Section is a program of one phase within a kernel, whose tasks are some of the kernel's. Sections
// with one program share its code.
type Section struct {
	Program *tile.Program
	Args    []int // which of the kernel's arguments the program's buffers are
}

// Join lowers programs that have nothing to do with each other as one kernel of so many arguments:
// its blocks are those of the first section, then those of the second, and so on.
func Join[E any](m thread.Machine[E], name string, args int, sections []Section, warps int) (out Kernel[E], err error) {
	all, blocks, err := sorted(name, sections)
	if err != nil {
		return out, err
	}
	threads := layout.Threads{Lanes: m.Lanes(), Warps: warps}
	b, end := m.Begin(name, threads.Lanes*warps)
	k := joined{code: code{b}, params: make([]thread.Pointer, args)}
	for i := range k.params {
		k.params[i] = b.Param(fmt.Sprintf("b%d", i), kernel.I32)
	}
	var maps assign.Maps
	for _, s := range all {
		p := s.sections[0].Program
		of := map[*tile.Buffer][]int{}
		for i, buf := range p.Buffers {
			of[buf] = s.arguments(i)
		}
		if s.phase, err = assign.Of(p, p.Phases[0], threads, of, &maps, true); err != nil {
			return out, err
		}
	}
	k.maps, k.block = params(b, &maps), b.Special(thread.Block)
	for i, s := range all {
		in := k.Le(k.i32(s.first[0]), k.block)
		if i < len(all)-1 {
			in = k.And(in, k.Lt(k.block, k.i32(all[i+1].first[0])))
		}
		k.When(in, func() { k.lower(s) })
	}
	return finish(name, end, blocks, &maps)
}

// sharers are the sections that share a program's code.
type sharers struct {
	sections []Section
	first    []int64 // the first block of each
	phase    *assign.Phase
}

// sorted are sections by their programs, and how many blocks all have.
func sorted(name string, sections []Section) (all []*sharers, blocks int64, err error) {
	of := map[*tile.Program]*sharers{}
	for _, s := range sections {
		if len(s.Program.Phases) != 1 || len(s.Args) != len(s.Program.Buffers) {
			return nil, 0, fmt.Errorf("kernel %s: a section of %d phases and %d arguments", name, len(s.Program.Phases), len(s.Args))
		}
		if of[s.Program] == nil {
			of[s.Program] = &sharers{}
			all = append(all, of[s.Program])
		}
		of[s.Program].sections = append(of[s.Program].sections, s)
	}
	for _, x := range all {
		for _, s := range x.sections {
			x.first = append(x.first, blocks)
			blocks += assign.Tasks(s.Program.Phases[0])
		}
	}
	return all, blocks, nil
}

// other reports whether section n has another argument than the first one as its i-th buffer.
func (s *sharers) other(n, i int) bool { return s.sections[n].Args[i] != s.sections[0].Args[i] }

// arguments are those of the kernel that the i-th buffer is: that of the first section, and others.
func (s *sharers) arguments(i int) (out []int) {
	for n, x := range s.sections {
		if n == 0 || s.other(n, i) {
			out = append(out, x.Args[i])
		}
	}
	return out
}

// joined is a kernel of sections.
type joined struct {
	code
	params []thread.Pointer
	maps   []thread.Map
	block  *thread.Value
}

// lower lowers a program for its sections.
func (k *joined) lower(s *sharers) {
	n := k.Sub(k.block, k.i32(s.first[0]))
	p := s.phase.Program
	args := make([]argument, len(p.Buffers))
	for i, buf := range p.Buffers {
		a := argument{Pointer: k.params[s.sections[0].Args[i]].As(elementwise.Elem(buf.DType))}
		for j, x := range s.sections {
			if s.other(j, i) {
				behind := k.Le(k.i32(s.first[j]), k.block)
				a.Pointer = k.Choose(behind, k.params[x.Args[i]].As(a.Elem), a.Pointer)
				a.conds = append(a.conds, behind)
			}
		}
		args[i] = a
	}
	if len(s.sections) > 1 {
		n = k.Rem(n, k.i32(assign.Tasks(s.phase.Tile)))
	}
	k.Overlay(func() {
		t := begin(k.Builder, s.phase, args, k.maps)
		t.locate(s.phase, n)
		t.block(s.phase.Tile.Body)
	})
}
