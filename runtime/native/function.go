package native

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"
	"strings"
)

// Function is the code of one function of an object, as the object has it: what
// relocations patch is still open.
type Function struct {
	Name string
	Code []byte
	Refs []Ref            // by offset
	Near map[int64]string // the functions of its section by their distance from it
}

// Ref is a place of a function's code that loading patches.
type Ref struct {
	Offset int    // of the patched bytes in the code
	To     string // the symbol, or the section, that the code refers to
	Addend int64
}

// Functions reads the function that an object exports as name, and its parts, which are
// called name.something, by their addresses. The object is checked as [Load] checks it;
// nothing is mapped, and the machine may be another one.
func Functions(object []byte, name string) ([]Function, error) {
	o, err := parseObject(object)
	if err != nil {
		return nil, fmt.Errorf("native code: %w", err)
	}
	all := slices.DeleteFunc(slices.Clone(o.symbols), func(s symbol) bool {
		return s.typ != elf.STT_FUNC || s.shndx == elf.SHN_UNDEF || s.shndx >= elf.SHN_LORESERVE
	})
	slices.SortFunc(all, func(a, b symbol) int { return cmp.Or(cmp.Compare(a.shndx, b.shndx), cmp.Compare(a.value, b.value)) })
	var out []Function
	found := false
	for _, s := range all {
		if s.name != name && !strings.HasPrefix(s.name, name+".") {
			continue
		}
		f, err := o.function(s, all)
		if err != nil {
			return nil, fmt.Errorf("native code: function %s: %w", s.name, err)
		}
		out, found = append(out, f), found || s.name == name
	}
	if !found {
		return nil, fmt.Errorf("native code: the object has no function %s", name)
	}
	return out, nil
}

// function reads s, one of all functions.
func (o *object) function(s symbol, all []symbol) (f Function, err error) {
	f = Function{Name: s.name, Near: map[int64]string{}}
	in := &o.sections[s.shndx]
	if f.Code, err = slice(in.data, s.value, s.size); err != nil {
		return f, err
	}
	for _, t := range all {
		if t.shndx == s.shndx {
			f.Near[int64(t.value-s.value)] = t.name
		}
	}
	for _, r := range in.relocs {
		if r.offset < s.value || r.offset >= s.value+s.size {
			continue
		}
		to := &o.symbols[r.sym]
		name := to.name
		if to.typ == elf.STT_SECTION && to.shndx < elf.SHN_LORESERVE {
			name = o.sections[to.shndx].name
		}
		f.Refs = append(f.Refs, Ref{int(r.offset - s.value), name, r.addend})
	}
	slices.SortFunc(f.Refs, func(a, b Ref) int { return cmp.Compare(a.Offset, b.Offset) })
	return f, nil
}
