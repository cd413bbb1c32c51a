package stack

import (
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
	_ "ptc/lang/directive" // whose directives the grammar has
	"ptc/lang/syntax"
	"ptc/stdlib"
)

// mostKernels is how many kernels a stack may list.
const mostKernels = 64

// Join reports, for two operations, whether a kernel of the software holds both: where they come from one expression, or
// from declarations or operations that Kernels has in one list. Casts are part of what they read from or are read by.
func (s *Stack) Join() func(producer, consumer *ir.Op) bool {
	lists := map[string]uint64{} // by name: a bit for each list of Kernels
	for i, k := range s.Kernels {
		for _, n := range k {
			lists[n] |= 1 << i
		}
	}
	in := declared()
	type key struct {
		pos  diag.Pos
		name string
	}
	known := map[key]uint64{}
	listsOf := func(o *ir.Op) uint64 {
		if s.oddSoftmax(o) && in.at(o.Pos) == "softmax" {
			return 0
		}
		k := key{o.Pos, o.Name}
		m, ok := known[k]
		if !ok {
			if m = lists[in.at(o.Pos)]; m == 0 {
				m = lists[o.Name]
			}
			known[k] = m
		}
		return m
	}
	return func(a, b *ir.Op) bool {
		for a != nil && a.Name == op.Cast {
			a = a.Args[0].Def
		}
		switch {
		case a == nil || b.Name == op.Cast:
			return true
		case op.Of(a).Class == op.Contraction:
			return scales(b)
		case op.Of(b).Class == op.Contraction:
			return false
		}
		return a.Pos == b.Pos || listsOf(a)&listsOf(b) != 0
	}
}

// oddSoftmax reports whether an operation has a number of matrices of scores that the software's kernel of softmax does not take.
// A matrix has the last axis and the longest other one.
func (s *Stack) oddSoftmax(o *ir.Op) bool {
	n, axes := int(s.Matrices.Of(1)), o.Args[0].Type.Axes
	if n <= 1 || len(axes) < 3 {
		return false
	}
	matrices, longest := 1, 1
	for _, a := range axes[:len(axes)-1] {
		matrices, longest = matrices*a.Size, max(longest, a.Size)
	}
	return matrices/longest%n != 0
}

// scales reports whether an operation multiplies or divides by one number, which libraries of products do as they store.
func scales(o *ir.Op) bool {
	return (o.Name == op.Mul || o.Name == op.Div) && slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return len(v.Type.Axes) == 0 })
}

// lines are the lines of the declarations of files.
type lines map[string][]declaration

type declaration struct {
	name     string
	from, to int
}

// at is the declaration at a place, or empty.
func (l lines) at(p diag.Pos) string {
	for _, d := range l[p.File] {
		if p.Line >= d.from && p.Line <= d.to {
			return d.name
		}
	}
	return ""
}

// declared are the modules and functions of the standard library.
func declared() lines {
	out := lines{}
	for _, name := range append(stdlib.Names(), stdlib.Implicit...) {
		text, _ := stdlib.Read(name)
		file := "std/" + name + ".ptl"
		f, errs := syntax.Parse(file, []byte(text))
		if len(errs) > 0 {
			panic(errs) // embedded
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *syntax.Module:
				out[file] = append(out[file], declaration{d.Name.Name, d.At().Line, d.EndPos.Line})
			case *syntax.Fn:
				out[file] = append(out[file], declaration{d.Name.Name, d.At().Line, d.EndPos.Line})
			}
		}
	}
	return out
}
