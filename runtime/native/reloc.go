package native

import (
	"debug/elf"
	"fmt"
)

// Relocation types are those of position-independent code of the small model:
// System V ABI, AMD64 supplement, table 4.9; and ELF for the Arm 64-bit
// Architecture (AAELF64), section "Relocation", of which package elf lacks one.
const armPLT32 elf.R_AARCH64 = 314

func usesGOT(machine elf.Machine, typ uint32) bool {
	if machine == elf.EM_AARCH64 {
		typ := elf.R_AARCH64(typ)
		return typ == elf.R_AARCH64_ADR_GOT_PAGE || typ == elf.R_AARCH64_LD64_GOT_LO12_NC
	}
	switch elf.R_X86_64(typ) {
	case elf.R_X86_64_GOTPCREL, elf.R_X86_64_GOTPCRELX, elf.R_X86_64_REX_GOTPCRELX:
		return true
	}
	return false
}

func relocateX86(p patch) error {
	switch elf.R_X86_64(p.typ) {
	case elf.R_X86_64_NONE:
		return nil
	case elf.R_X86_64_64:
		return p.put64(p.S + p.A)
	case elf.R_X86_64_PC64:
		return p.put64(p.S + p.A - p.P)
	case elf.R_X86_64_PC32, elf.R_X86_64_PLT32: // every function is in the block: no stub is needed
		return p.put32(p.S + p.A - p.P)
	case elf.R_X86_64_GOTPCREL, elf.R_X86_64_GOTPCRELX, elf.R_X86_64_REX_GOTPCRELX:
		return p.put32(p.G + p.A - p.P)
	case elf.R_X86_64_32, elf.R_X86_64_32S:
		return fmt.Errorf("type %d is a 32-bit absolute address: the object was not compiled position independent", p.typ)
	}
	return fmt.Errorf("unknown x86-64 type %d", p.typ)
}

func relocateARM(p patch) error {
	const pageMask = ^uint64(0xfff)
	v := p.S + p.A
	switch elf.R_AARCH64(p.typ) {
	case elf.R_AARCH64_NONE, elf.R_AARCH64_NULL:
		return nil
	case elf.R_AARCH64_ABS64:
		return p.put64(v)
	case elf.R_AARCH64_PREL64:
		return p.put64(v - p.P)
	case elf.R_AARCH64_PREL32, armPLT32:
		return p.put32(v - p.P)
	case elf.R_AARCH64_ADR_PREL_LO21:
		return p.putADR(v-p.P, 0)
	case elf.R_AARCH64_ADR_PREL_PG_HI21, elf.R_AARCH64_ADR_PREL_PG_HI21_NC:
		return p.putADR(v&pageMask-p.P&pageMask, 12)
	case elf.R_AARCH64_ADR_GOT_PAGE:
		return p.putADR((p.G+p.A)&pageMask-p.P&pageMask, 12)
	case elf.R_AARCH64_ADD_ABS_LO12_NC, elf.R_AARCH64_LDST8_ABS_LO12_NC:
		return p.putLo12(v, 0)
	case elf.R_AARCH64_LDST16_ABS_LO12_NC:
		return p.putLo12(v, 1)
	case elf.R_AARCH64_LDST32_ABS_LO12_NC:
		return p.putLo12(v, 2)
	case elf.R_AARCH64_LDST64_ABS_LO12_NC:
		return p.putLo12(v, 3)
	case elf.R_AARCH64_LDST128_ABS_LO12_NC:
		return p.putLo12(v, 4)
	case elf.R_AARCH64_LD64_GOT_LO12_NC:
		return p.putLo12(p.G+p.A, 3)
	case elf.R_AARCH64_TSTBR14:
		return p.putBranch(v-p.P, 14, 5)
	case elf.R_AARCH64_CONDBR19:
		return p.putBranch(v-p.P, 19, 5)
	case elf.R_AARCH64_JUMP26, elf.R_AARCH64_CALL26:
		return p.putBranch(v-p.P, 26, 0)
	}
	return fmt.Errorf("unknown arm64 type %d", p.typ)
}

// putBits replaces the bits of mask in the instruction word.
func (p patch) putBits(mask, bits uint32) error {
	if len(p.field) < 4 {
		return errPastEnd
	}
	le.PutUint32(p.field, le.Uint32(p.field)&^mask|bits&mask)
	return nil
}

// putADR stores a signed distance of 21 bits, in units of 1<<shift, in an ADR or
// ADRP: bits 0 and 1 go to 29 and 30, the others to 5 to 23.
func (p patch) putADR(d uint64, shift uint) error {
	imm := int64(d) >> shift
	if imm < -1<<20 || imm >= 1<<20 {
		return fmt.Errorf("distance %#x does not fit an ADR", d)
	}
	u := uint32(imm)
	return p.putBits(3<<29|0x7ffff<<5, u&3<<29|u>>2&0x7ffff<<5)
}

// putLo12 stores the low 12 bits of an address in the immediate of an ADD (scale
// 0) or of a load or store of 1<<scale bytes.
func (p patch) putLo12(v uint64, scale uint) error {
	low := uint32(v & 0xfff)
	if low&(1<<scale-1) != 0 {
		return fmt.Errorf("address %#x is not aligned to the %d bytes accessed", v, 1<<scale)
	}
	return p.putBits(0xfff<<10, low>>scale<<10)
}

// putBranch stores a signed distance in words, of the given number of bits, from
// bit at on.
func (p patch) putBranch(d uint64, bits, at uint) error {
	imm := int64(d) >> 2
	if d&3 != 0 || imm < -1<<(bits-1) || imm >= 1<<(bits-1) {
		return fmt.Errorf("distance %#x does not fit a branch of %d bits", d, bits)
	}
	mask := uint32(1)<<bits - 1
	return p.putBits(mask<<at, uint32(imm)&mask<<at)
}
