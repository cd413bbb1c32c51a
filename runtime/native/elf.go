package native

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Limits on what an object may ask for. They are far above what kernels need and
// keep a malformed object from exhausting memory.
const (
	maxObject = 256 << 20 // bytes of the object
	maxImage  = 64 << 20  // bytes of loaded sections
	maxName   = 4096      // bytes of a symbol's name
	maxAlign  = 4096      // alignment of a section
)

// Bytes of the entries of tables.
const ehdrSize, shdrSize, symSize, relaSize = 64, 64, 24, 24

type section struct {
	name       string
	typ        elf.SectionType
	flags      elf.SectionFlag
	data       []byte // a view of the object; nil for NOBITS
	size       uint64
	align      uint64
	link, info uint32
	loaded     bool
	relocs     []reloc
}

type symbol struct {
	name       string
	typ        elf.SymType
	bind       elf.SymBind
	shndx      elf.SectionIndex
	value      uint64
	size       uint64
	referenced bool
}

type reloc struct {
	offset uint64 // in its section
	typ    uint32
	sym    uint32
	addend int64
}

// object is a checked relocatable object: every index is in range and every view
// inside the bytes it came from.
type object struct {
	machine  elf.Machine
	sections []section
	symbols  []symbol
}

var le = binary.LittleEndian

// parseObject reads and checks an ELF64 little-endian relocatable object.
func parseObject(b []byte) (*object, error) {
	if len(b) > maxObject {
		return nil, fmt.Errorf("object of %d bytes is above the limit of %d", len(b), maxObject)
	}
	if len(b) < ehdrSize || !bytes.Equal(b[:7], []byte{0x7f, 'E', 'L', 'F', 2, 1, 1}) {
		return nil, errors.New("not an ELF64 little-endian object")
	}
	o := &object{machine: elf.Machine(le.Uint16(b[18:]))}
	if t := elf.Type(le.Uint16(b[16:])); t != elf.ET_REL {
		return nil, fmt.Errorf("ELF type %d, want %d (relocatable)", uint16(t), uint16(elf.ET_REL))
	}
	if o.machine != elf.EM_X86_64 && o.machine != elf.EM_AARCH64 {
		return nil, fmt.Errorf("ELF machine %d, want %d (x86-64) or %d (arm64)", uint16(o.machine), uint16(elf.EM_X86_64), uint16(elf.EM_AARCH64))
	}
	if err := o.readSections(b); err != nil {
		return nil, err
	}
	if err := o.readSymbols(); err != nil {
		return nil, err
	}
	return o, o.readRelocs()
}

func (o *object) readSections(b []byte) error {
	off, entry := le.Uint64(b[40:]), le.Uint16(b[58:])
	n, names := uint64(le.Uint16(b[60:])), le.Uint16(b[62:])
	if entry != shdrSize || n == 0 || n >= uint64(elf.SHN_LORESERVE) {
		return fmt.Errorf("section table of %d entries of %d bytes", n, entry)
	}
	table, err := slice(b, off, n*shdrSize)
	if err != nil {
		return fmt.Errorf("section table: %w", err)
	}
	o.sections = make([]section, n)
	nameOff := make([]uint32, n)
	rest := uint64(len(b)) // what no section has claimed
	for i := range o.sections {
		h, s := table[i*shdrSize:], &o.sections[i]
		nameOff[i] = le.Uint32(h)
		s.typ, s.flags, s.size = elf.SectionType(le.Uint32(h[4:])), elf.SectionFlag(le.Uint64(h[8:])), le.Uint64(h[32:])
		s.link, s.info, s.align = le.Uint32(h[40:]), le.Uint32(h[44:]), le.Uint64(h[48:])
		if s.typ == 0 || s.typ == elf.SHT_NOBITS {
			continue
		}
		if s.data, err = slice(b, le.Uint64(h[24:]), s.size); err != nil {
			return fmt.Errorf("section %d: %w", i, err)
		}
		// Sections that share bytes would make the work quadratic: thousands of
		// tables of relocations, each of them all of the object.
		if s.size > rest {
			return fmt.Errorf("sections overlap: those up to %d have more bytes than the object, %d", i, len(b))
		}
		rest -= s.size
	}
	if uint64(names) >= n || o.sections[names].typ != elf.SHT_STRTAB {
		return errors.New("no table of section names")
	}
	text := string(o.sections[names].data)
	for i := range o.sections {
		s := &o.sections[i]
		if s.name, err = cstring(text, nameOff[i]); err != nil {
			return fmt.Errorf("name of section %d: %w", i, err)
		}
		if err := s.classify(); err != nil {
			return err
		}
	}
	return nil
}

// classify decides whether a section is loaded. Unwind tables are not: nothing
// unwinds through a kernel, which calls nothing and is called by no one who
// would.
func (s *section) classify() error {
	if s.flags&elf.SHF_ALLOC == 0 || s.typ == 0 || s.typ == elf.SHT_NOTE || strings.HasPrefix(s.name, ".eh_frame") {
		return nil
	}
	switch {
	case s.flags&elf.SHF_TLS != 0:
		return fmt.Errorf("section %s is thread-local, which a kernel cannot use", s.name)
	case s.typ >= elf.SHT_INIT_ARRAY && s.typ <= elf.SHT_PREINIT_ARRAY:
		return fmt.Errorf("section %s holds constructors, which would not run", s.name)
	case s.typ != elf.SHT_PROGBITS && s.typ != elf.SHT_NOBITS:
		return fmt.Errorf("section %s is loaded and has unknown type %#x", s.name, uint32(s.typ))
	case s.flags&elf.SHF_WRITE != 0 && s.flags&elf.SHF_EXECINSTR != 0:
		return fmt.Errorf("section %s is writable and executable", s.name)
	case s.size > maxImage:
		return fmt.Errorf("section %s of %d bytes is above the limit of %d", s.name, s.size, maxImage)
	case s.align > maxAlign || s.align&(s.align-1) != 0:
		return fmt.Errorf("section %s has alignment %d, want a power of two up to %d", s.name, s.align, maxAlign)
	}
	if strings.HasPrefix(s.name, ".data.rel.ro") {
		s.flags &^= elf.SHF_WRITE // constant once relocated, which is before it is protected
	}
	s.loaded = true
	return nil
}

func (o *object) readSymbols() error {
	table := -1
	for i := range o.sections {
		if o.sections[i].typ != elf.SHT_SYMTAB {
			continue
		}
		if table >= 0 {
			return errors.New("two symbol tables")
		}
		table = i
	}
	if table < 0 {
		return errors.New("no symbol table")
	}
	s := &o.sections[table]
	if len(s.data)%symSize != 0 || int(s.link) >= len(o.sections) || o.sections[s.link].typ != elf.SHT_STRTAB {
		return errors.New("malformed symbol table")
	}
	names := string(o.sections[s.link].data)
	o.symbols = make([]symbol, len(s.data)/symSize)
	for i := range o.symbols {
		e, sym := s.data[i*symSize:], &o.symbols[i]
		name, err := cstring(names, le.Uint32(e))
		if err != nil {
			return fmt.Errorf("name of symbol %d: %w", i, err)
		}
		*sym = symbol{name: name, typ: elf.ST_TYPE(e[4]), bind: elf.ST_BIND(e[4]), shndx: elf.SectionIndex(le.Uint16(e[6:])), value: le.Uint64(e[8:]), size: le.Uint64(e[16:])}
		if sym.shndx < elf.SHN_LORESERVE && int(sym.shndx) >= len(o.sections) {
			return fmt.Errorf("symbol %q is in section %d of %d", name, sym.shndx, len(o.sections))
		}
		if sym.shndx != elf.SHN_UNDEF && sym.shndx < elf.SHN_LORESERVE && sym.value > o.sections[sym.shndx].size {
			return fmt.Errorf("symbol %q is at %#x, outside its section", name, sym.value)
		}
	}
	return nil
}

// readRelocs attaches relocations to the loaded sections that they patch.
func (o *object) readRelocs() error {
	for i := range o.sections {
		s := &o.sections[i]
		if s.typ != elf.SHT_RELA && s.typ != elf.SHT_REL {
			continue
		}
		if int(s.info) >= len(o.sections) {
			return fmt.Errorf("section %s relocates section %d of %d", s.name, s.info, len(o.sections))
		}
		to := &o.sections[s.info]
		if !to.loaded {
			continue
		}
		if s.typ == elf.SHT_REL || len(s.data)%relaSize != 0 || to.typ == elf.SHT_NOBITS || int(s.link) >= len(o.sections) || o.sections[s.link].typ != elf.SHT_SYMTAB {
			return fmt.Errorf("malformed relocations %s", s.name)
		}
		for e := s.data; len(e) > 0; e = e[relaSize:] {
			r := reloc{offset: le.Uint64(e), typ: le.Uint32(e[8:]), sym: le.Uint32(e[12:]), addend: int64(le.Uint64(e[16:]))}
			if int64(r.sym) >= int64(len(o.symbols)) || r.offset >= to.size {
				return fmt.Errorf("relocation of symbol %d at %s+%#x is out of range", r.sym, to.name, r.offset)
			}
			o.symbols[r.sym].referenced = true
			to.relocs = append(to.relocs, r)
		}
	}
	return nil
}

// slice is b[off:off+n], or an error if that is not inside b.
func slice(b []byte, off, n uint64) ([]byte, error) {
	if off > uint64(len(b)) || n > uint64(len(b))-off {
		return nil, fmt.Errorf("bytes [%#x, +%#x) of an object of %#x", off, n, len(b))
	}
	return b[off : off+n : off+n], nil
}

// cstring is the zero-terminated string at off, of a table whose strings may share
// their ends and so are views of it.
func cstring(table string, off uint32) (string, error) {
	if uint64(off) >= uint64(len(table)) {
		return "", fmt.Errorf("offset %#x is outside the string table", off)
	}
	b := table[off:]
	n := strings.IndexByte(b[:min(len(b), maxName+1)], 0)
	if n < 0 {
		return "", fmt.Errorf("longer than %d bytes or not terminated", maxName)
	}
	return b[:n], nil
}
