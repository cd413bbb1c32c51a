package kernel

import "fmt"

// Section is a kernel within another, which runs its tasks as some of its own.
type Section struct {
	*Kernel
	Args  []int // which of the whole kernel's arguments those of the section are
	First int64 // the number that the section's first task has in the whole
}

// Join makes one kernel of several whose tasks have nothing to do with each other: its
// tasks are those of the first section, then those of the second, and so on. Sections
// may share a kernel, whose code is then there once. The result has no body.
//
// What sections share they only read. Scratch is that of the section that takes most:
// a task is of one section.
func Join(name string, args int, sections []Section) (*Kernel, error) {
	k := &Kernel{Name: name, Buffers: make([]*Buffer, args)}
	for _, s := range sections {
		s.First = k.Tasks
		k.Tasks += s.Tasks
		k.Sections = append(k.Sections, s)
		own := s.Kernel.Args()
		if len(own) != len(s.Args) {
			return nil, fmt.Errorf("kernel %s: a section of %d arguments is given %d", name, len(own), len(s.Args))
		}
		for i, b := range own {
			c := *b
			c.Arg = s.Args[i]
			switch old := k.Buffers[c.Arg]; {
			case old == nil:
				k.Buffers[c.Arg] = &c
			case old.Use != Read || c.Use != Read || old.Elem != c.Elem || old.Len != c.Len:
				return nil, fmt.Errorf("kernel %s: sections have argument %d as %s %s[%d] and as %s %s[%d]",
					name, c.Arg, old.Use, old.Elem, old.Len, c.Use, c.Elem, c.Len)
			}
		}
	}
	for i, b := range k.Buffers {
		if b == nil {
			return nil, fmt.Errorf("kernel %s: no section has argument %d", name, i)
		}
		b.Name = fmt.Sprintf("a%d", i)
	}
	return k, Verify(k)
}

// Bodies are the kernels of k that have code, each once: those of its sections, or k.
func (k *Kernel) Bodies() []*Kernel {
	if len(k.Sections) == 0 {
		return []*Kernel{k}
	}
	var out []*Kernel
	seen := map[*Kernel]bool{}
	for _, s := range k.Sections {
		if !seen[s.Kernel] {
			seen[s.Kernel] = true
			out = append(out, s.Kernel)
		}
	}
	return out
}
