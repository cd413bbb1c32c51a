package native

import "fmt"

// Relocation types that position-independent code of the small model uses.
// x86-64: System V ABI, AMD64 supplement, table 4.9.
const (
	rX64None           = 0
	rX64Abs64          = 1
	rX64PC32           = 2
	rX64PLT32          = 4
	rX64GOTPCRel       = 9
	rX64PC64           = 24
	rX64GOTPCRelX      = 41
	rX64RexGOTPCRelX   = 42
	rX64Abs32, rX6432S = 10, 11
)

// arm64: ELF for the Arm 64-bit Architecture (AAELF64), section "Relocation".
const (
	rARMNone        = 0
	rARMNone2       = 256
	rARMAbs64       = 257
	rARMPrel64      = 260
	rARMPrel32      = 261
	rARMAdrLo21     = 274
	rARMAdrPage     = 275
	rARMAdrPageNC   = 276
	rARMAddLo12     = 277
	rARMLdst8       = 278
	rARMTstBr14     = 279
	rARMCondBr19    = 280
	rARMJump26      = 282
	rARMCall26      = 283
	rARMLdst16      = 284
	rARMLdst32      = 285
	rARMLdst64      = 286
	rARMLdst128     = 299
	rARMAdrGOTPage  = 311
	rARMLd64GOTLo12 = 312
	rARMPLT32       = 314
)

func usesGOT(machine uint16, typ uint32) bool {
	if machine == emAArch64 {
		return typ == rARMAdrGOTPage || typ == rARMLd64GOTLo12
	}
	return typ == rX64GOTPCRel || typ == rX64GOTPCRelX || typ == rX64RexGOTPCRelX
}

func relocateX86(p patch) error {
	switch p.typ {
	case rX64None:
		return nil
	case rX64Abs64:
		return p.put64(p.S + p.A)
	case rX64PC64:
		return p.put64(p.S + p.A - p.P)
	case rX64PC32, rX64PLT32: // every function is in the block: no stub is needed
		return p.put32(p.S + p.A - p.P)
	case rX64GOTPCRel, rX64GOTPCRelX, rX64RexGOTPCRelX:
		return p.put32(p.G + p.A - p.P)
	case rX64Abs32, rX6432S:
		return fmt.Errorf("type %d is a 32-bit absolute address: the object was not compiled position independent", p.typ)
	}
	return fmt.Errorf("unknown x86-64 type %d", p.typ)
}

func relocateARM(p patch) error {
	const pageMask = ^uint64(0xfff)
	v := p.S + p.A
	switch p.typ {
	case rARMNone, rARMNone2:
		return nil
	case rARMAbs64:
		return p.put64(v)
	case rARMPrel64:
		return p.put64(v - p.P)
	case rARMPrel32, rARMPLT32:
		return p.put32(v - p.P)
	case rARMAdrLo21:
		return p.putADR(v-p.P, 0)
	case rARMAdrPage, rARMAdrPageNC:
		return p.putADR(v&pageMask-p.P&pageMask, 12)
	case rARMAdrGOTPage:
		return p.putADR((p.G+p.A)&pageMask-p.P&pageMask, 12)
	case rARMAddLo12, rARMLdst8:
		return p.putLo12(v, 0)
	case rARMLdst16:
		return p.putLo12(v, 1)
	case rARMLdst32:
		return p.putLo12(v, 2)
	case rARMLdst64:
		return p.putLo12(v, 3)
	case rARMLdst128:
		return p.putLo12(v, 4)
	case rARMLd64GOTLo12:
		return p.putLo12(p.G+p.A, 3)
	case rARMTstBr14:
		return p.putBranch(v-p.P, 14, 5)
	case rARMCondBr19:
		return p.putBranch(v-p.P, 19, 5)
	case rARMJump26, rARMCall26:
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
