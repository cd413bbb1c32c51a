package native

import (
	"bytes"
	"debug/elf"
)

// testSection and testSymbol describe an object that a test builds.
type testSection struct {
	name   string
	typ    elf.SectionType
	flags  elf.SectionFlag
	align  uint64
	data   []byte
	size   uint64 // of NOBITS
	relocs []reloc
}

type testSymbol struct {
	name  string
	info  byte // bind<<4 | type
	shndx uint16
	value uint64
}

const globalFunc = 1<<4 | 2

// buildObject writes an ELF64 relocatable object. Sections are numbered from 1 in
// the order given, symbols from 1 likewise; the tables follow.
func buildObject(machine elf.Machine, sections []testSection, symbols []testSymbol) []byte {
	names, strs := []byte{0}, []byte{0}
	add := func(table *[]byte, s string) uint32 {
		at := len(*table)
		*table = append(append(*table, s...), 0)
		return uint32(at)
	}
	symtab := make([]byte, symSize)
	for _, s := range symbols {
		e := make([]byte, symSize)
		le.PutUint32(e, add(&strs, s.name))
		e[4] = s.info
		le.PutUint16(e[6:], s.shndx)
		le.PutUint64(e[8:], s.value)
		symtab = append(symtab, e...)
	}
	n := len(sections)
	symIndex := uint32(n + 1)
	all := append([]testSection{}, sections...)
	all = append(all,
		testSection{name: ".symtab", typ: elf.SHT_SYMTAB, align: 8, data: symtab},
		testSection{name: ".strtab", typ: elf.SHT_STRTAB, align: 1, data: strs})
	info := map[int]uint32{}
	for i, s := range sections {
		if len(s.relocs) == 0 {
			continue
		}
		var rela []byte
		for _, r := range s.relocs {
			e := make([]byte, relaSize)
			le.PutUint64(e, r.offset)
			le.PutUint32(e[8:], r.typ)
			le.PutUint32(e[12:], r.sym)
			le.PutUint64(e[16:], uint64(r.addend))
			rela = append(rela, e...)
		}
		info[len(all)] = uint32(i + 1)
		all = append(all, testSection{name: ".rela" + s.name, typ: elf.SHT_RELA, align: 8, data: rela})
	}
	all = append(all, testSection{name: ".shstrtab", typ: elf.SHT_STRTAB, align: 1})

	var body bytes.Buffer
	body.Write(make([]byte, ehdrSize))
	table := make([]byte, shdrSize)
	for i, s := range all {
		h := make([]byte, shdrSize)
		le.PutUint32(h, add(&names, s.name))
		if i == len(all)-1 {
			s.data = names
		}
		le.PutUint32(h[4:], uint32(s.typ))
		le.PutUint64(h[8:], uint64(s.flags))
		le.PutUint64(h[24:], uint64(body.Len()))
		le.PutUint64(h[32:], uint64(len(s.data))+s.size)
		switch s.typ {
		case elf.SHT_SYMTAB:
			le.PutUint32(h[40:], symIndex+1)
		case elf.SHT_RELA:
			le.PutUint32(h[40:], symIndex)
			le.PutUint32(h[44:], info[i])
		}
		le.PutUint64(h[48:], s.align)
		body.Write(s.data)
		table = append(table, h...)
	}
	out := body.Bytes()
	copy(out, []byte{0x7f, 'E', 'L', 'F', 2, 1, 1})
	le.PutUint16(out[16:], uint16(elf.ET_REL))
	le.PutUint16(out[18:], uint16(machine))
	le.PutUint64(out[40:], uint64(len(out)))
	le.PutUint16(out[58:], shdrSize)
	le.PutUint16(out[60:], uint16(len(all)+1))
	le.PutUint16(out[62:], uint16(len(all)))
	return append(out, table...)
}

// words is little-endian 32-bit data.
func words(w ...uint32) []byte {
	b := make([]byte, 4*len(w))
	for i, v := range w {
		le.PutUint32(b[4*i:], v)
	}
	return b
}
