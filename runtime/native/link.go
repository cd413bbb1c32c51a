package native

import (
	"debug/elf"
	"fmt"
	"sort"
	"strings"
)

// layout places the loaded sections of an object in one block of memory, in
// three groups of whole pages, so that each group can have its own protection:
//
//	| executable | read-only, then the GOT | writable |
//
// One block keeps every distance within the ±2 GiB (x86-64) or ±128 MiB (arm64
// calls) that the small code model assumes.
type layout struct {
	obj    *object
	at     []uint64 // by section: its offset in the block
	got    []uint64 // by symbol: 1 + the offset of its GOT slot, or 0
	ro, rw uint64   // where the read-only and the writable group begin
	size   uint64   // of the block, in whole pages
}

// newLayout decides every offset, and rejects undefined symbols.
func newLayout(o *object, page uint64) (*layout, error) {
	if err := o.checkSymbols(); err != nil {
		return nil, err
	}
	l := &layout{obj: o, at: make([]uint64, len(o.sections)), got: make([]uint64, len(o.symbols))}
	end := uint64(0)
	place := func(want elf.SectionFlag) error {
		for i := range o.sections {
			s := &o.sections[i]
			if !s.loaded || s.flags&(elf.SHF_EXECINSTR|elf.SHF_WRITE) != want {
				continue
			}
			end = roundUp(end, max(s.align, 1))
			l.at[i] = end
			if end += s.size; end > maxImage {
				return fmt.Errorf("sections above the limit of %d bytes", maxImage)
			}
		}
		return nil
	}
	if err := place(elf.SHF_EXECINSTR); err != nil {
		return nil, err
	}
	end = roundUp(end, page)
	l.ro = end
	if err := place(0); err != nil {
		return nil, err
	}
	end = l.placeGOT(end)
	end = roundUp(end, page)
	l.rw = end
	if err := place(elf.SHF_WRITE); err != nil {
		return nil, err
	}
	l.size = max(roundUp(end, page), page)
	return l, nil
}

// placeGOT gives a slot of 8 bytes to each symbol that is reached through the
// global offset table, after offset end.
func (l *layout) placeGOT(end uint64) uint64 {
	end = roundUp(end, 8)
	for i := range l.obj.sections {
		for _, r := range l.obj.sections[i].relocs {
			if l.got[r.sym] == 0 && usesGOT(l.obj.machine, r.typ) {
				l.got[r.sym] = 1 + end
				end += 8
			}
		}
	}
	return end
}

// checkSymbols rejects what cannot be resolved, all missing names at once.
func (o *object) checkSymbols() error {
	var missing []string
	for _, s := range o.symbols[min(1, len(o.symbols)):] {
		switch {
		case s.shndx == elf.SHN_UNDEF && (s.name != "" || s.referenced):
			missing = append(missing, s.name)
		case !s.referenced:
		case s.typ == elf.STT_TLS || s.typ == elf.STT_GNU_IFUNC:
			return fmt.Errorf("symbol %q is thread-local or resolved at run time, which a kernel cannot use", s.name)
		case s.shndx == elf.SHN_ABS:
		case s.shndx >= elf.SHN_LORESERVE || !o.sections[s.shndx].loaded:
			return fmt.Errorf("symbol %q is used and not in a loaded section", s.name)
		}
	}
	if len(missing) > 0 {
		sort.Strings(missing)
		return fmt.Errorf("undefined symbols: %s", strings.Join(missing, ", "))
	}
	return nil
}

// fill copies the sections into the block.
func (l *layout) fill(mem []byte) {
	for i, s := range l.obj.sections {
		if s.loaded {
			copy(mem[l.at[i]:], s.data)
		}
	}
}

// address is where symbol i is when the block is at base.
func (l *layout) address(i uint32, base uint64) uint64 {
	s := &l.obj.symbols[i]
	switch {
	case i == 0: // the null symbol: relocations without one mean address 0
		return 0
	case s.shndx == elf.SHN_ABS:
		return s.value
	}
	return base + l.at[s.shndx] + s.value
}

// relocate fills the GOT and patches every reference, for a block that will run
// at base. mem holds the sections and may be any copy of the block.
func (l *layout) relocate(mem []byte, base uint64) error {
	for i, slot := range l.got {
		if slot != 0 {
			le.PutUint64(mem[slot-1:], l.address(uint32(i), base))
		}
	}
	apply := relocateX86
	if l.obj.machine == elf.EM_AARCH64 {
		apply = relocateARM
	}
	for i := range l.obj.sections {
		s := &l.obj.sections[i]
		body := mem[l.at[i] : l.at[i]+s.size*b2u(s.loaded)]
		for _, r := range s.relocs {
			p := patch{
				typ: r.typ, field: body[r.offset:],
				S: l.address(r.sym, base), A: uint64(r.addend), P: base + l.at[i] + r.offset,
			}
			if slot := l.got[r.sym]; slot != 0 {
				p.G = base + slot - 1
			}
			if err := apply(p); err != nil {
				return fmt.Errorf("relocation at %s+%#x, to %q: %w", s.name, r.offset, l.obj.symbols[r.sym].name, err)
			}
		}
	}
	return nil
}

// patch is one relocation, in the letters of the ABI documents: S the symbol's
// address, A the addend, P the address of the field, G that of the GOT slot.
type patch struct {
	typ        uint32
	field      []byte // from the field to the end of its section
	S, A, P, G uint64
}

func (p patch) put64(v uint64) error {
	if len(p.field) < 8 {
		return errPastEnd
	}
	le.PutUint64(p.field, v)
	return nil
}

// put32 stores a signed distance that must fit 32 bits.
func (p patch) put32(v uint64) error {
	if len(p.field) < 4 {
		return errPastEnd
	}
	if int64(v) != int64(int32(v)) {
		return fmt.Errorf("distance %#x does not fit 32 bits", v)
	}
	le.PutUint32(p.field, uint32(v))
	return nil
}

var errPastEnd = fmt.Errorf("the field runs past the end of its section")

func roundUp(n, to uint64) uint64 { return (n + to - 1) &^ (to - 1) }

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
