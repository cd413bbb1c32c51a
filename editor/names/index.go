package names

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
)

// Ref is a place where a symbol is named.
type Ref struct {
	File     *source.File
	From, To int // offsets in bytes
	Symbol   *Symbol
	Declares bool
	Node     syntax.Node // the identifier; nil for a part of a path
}

// Seen is what a node evaluated to, each time that differed.
type Seen map[syntax.Node][]eval.Seen

// Index is the references of a program.
type Index struct {
	refs map[*source.File][]Ref
	byAt map[syntax.Node]*Symbol // the identifier that declares it
	axes map[string]*Symbol
	tops map[*source.File]map[string]*Symbol // what a file declares
}

// Build finds the references of all files of p.
func Build(p *source.Program, seen Seen) *Index {
	x := &Index{refs: map[*source.File][]Ref{}, byAt: map[syntax.Node]*Symbol{}, axes: map[string]*Symbol{}, tops: map[*source.File]map[string]*Symbol{}}
	b := &builder{Index: x, prog: p, seen: seen, builtins: map[string]*Symbol{}, signatures: map[string]eval.Signature{}}
	for _, s := range eval.Signatures() {
		b.builtins[s.Name] = &Symbol{Kind: Builtin, Name: s.Name}
		b.signatures[s.Name] = s
	}
	for _, f := range p.Files {
		b.declareFile(f)
	}
	for _, f := range p.Files {
		b.file(f)
	}
	for f, refs := range x.refs {
		sort.SliceStable(refs, func(i, j int) bool { return refs[i].From < refs[j].From })
		apart := refs[:0]
		for _, r := range refs {
			if len(apart) == 0 || r.From >= apart[len(apart)-1].To {
				apart = append(apart, r)
			}
		}
		x.refs[f] = apart
	}
	return x
}

// At is the reference that an offset is in, or just behind; nil where there is none.
func (x *Index) At(f *source.File, offset int) *Ref {
	refs := x.refs[f]
	i := sort.Search(len(refs), func(i int) bool { return refs[i].To >= offset })
	if i+1 < len(refs) && refs[i].To == offset && refs[i+1].From == offset {
		i++
	}
	if i < len(refs) && refs[i].From <= offset {
		return &refs[i]
	}
	return nil
}

// In are the references of a file, in order.
func (x *Index) In(f *source.File) []Ref { return x.refs[f] }

// Of are the references of a symbol, in the order of the program's files.
func (x *Index) Of(p *source.Program, s *Symbol) (out []Ref) {
	for _, f := range p.Files {
		for _, r := range x.refs[f] {
			if r.Symbol == s {
				out = append(out, r)
			}
		}
	}
	return out
}

// Declared is the symbol that an identifier declares, or nil.
func (x *Index) Declared(id syntax.Node) *Symbol { return x.byAt[id] }

// Top is what a file declares by a name, or nil.
func (x *Index) Top(f *source.File, name string) *Symbol { return x.tops[f][name] }

// Tops are the names that a file declares, sorted.
func (x *Index) Tops(f *source.File) []*Symbol {
	return slices.SortedFunc(maps.Values(x.tops[f]), byName)
}

// Axes are the axes and entries of the config that are named anywhere, sorted.
func (x *Index) Axes() []*Symbol {
	return slices.SortedFunc(maps.Values(x.axes), byName)
}

func byName(a, b *Symbol) int { return strings.Compare(a.Name, b.Name) }
