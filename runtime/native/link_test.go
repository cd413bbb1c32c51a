package native

import (
	"debug/elf"
	"os"
	"strings"
	"testing"
)

const base = 0x7f12_3456_0000 // where the tests pretend the block is

// relocated links an object of pages of 4 KiB as if it were at base.
func relocated(t *testing.T, object []byte) (*layout, []byte, error) {
	t.Helper()
	o, err := parseObject(object)
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLayout(o, 4096)
	if err != nil {
		t.Fatal(err)
	}
	mem := make([]byte, l.size)
	l.fill(mem)
	return l, mem, l.relocate(mem, base)
}

// twoSections is code of one word to patch at offset 8, and constants at the next
// page, whose symbol `k` (number 1) is at offset 0x30; symbol 2, `f`, is the code.
func twoSections(machine elf.Machine, field []byte, r reloc) []byte {
	r.offset = 8
	return buildObject(machine, []testSection{
		{name: ".text", typ: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, align: 16, data: append(make([]byte, 8), field...), relocs: []reloc{r}},
		{name: ".rodata", typ: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC, align: 16, data: make([]byte, 0x44)},
	}, []testSymbol{{"k", 1 << 4, 2, 0x30}, {"f", globalFunc, 1, 0}})
}

// TestRelocations compares patched words with values worked out by hand from the
// ABI documents. P = base + 8; k is at base + 0x1030; the slot of the global
// offset table follows the constants, at base + 0x1048.
func TestRelocations(t *testing.T) {
	const k, f = 1, 2
	cases := []struct {
		name    string
		machine elf.Machine
		r       reloc
		before  uint64
		want    uint64 // of the field's 8 bytes
	}{
		{"x86 none", elf.EM_X86_64, reloc{typ: uint32(elf.R_X86_64_NONE), sym: k}, 7, 7},
		{"x86 64", elf.EM_X86_64, reloc{typ: uint32(elf.R_X86_64_64), sym: k, addend: 4}, 0, base + 0x1034},
		{"x86 pc32", elf.EM_X86_64, reloc{typ: uint32(elf.R_X86_64_PC32), sym: k, addend: -4}, 0, 0x1024},
		{"x86 pc32 back", elf.EM_X86_64, reloc{typ: uint32(elf.R_X86_64_PLT32), sym: f, addend: -4}, 0, 0xffff_fff4},
		{"x86 pc64", elf.EM_X86_64, reloc{typ: uint32(elf.R_X86_64_PC64), sym: f}, 0, ^uint64(7)},
		{"x86 got", elf.EM_X86_64, reloc{typ: uint32(elf.R_X86_64_REX_GOTPCRELX), sym: k, addend: -4}, 0, 0x103c},

		{"arm abs64", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_ABS64), sym: k}, 0, base + 0x1030},
		{"arm prel64", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_PREL64), sym: f}, 0, ^uint64(7)},
		{"arm prel32", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_PREL32), sym: k}, 0, 0x1028},
		// adr x0, k: 0x1028 = immlo 0, immhi 0x40a
		{"arm adr", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_ADR_PREL_LO21), sym: k}, 0x1000_0000, 0x1000_0000 | 0x40a<<5},
		// adrp x0, k: one page on: immlo 1
		{"arm adrp", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_ADR_PREL_PG_HI21), sym: k}, 0x9000_0000, 0xb000_0000},
		// adrp x0, f-0x1000: one page back: immlo 3, immhi all ones
		{"arm adrp back", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_ADR_PREL_PG_HI21), sym: f, addend: -0x1000}, 0x9000_0000, 0xf0ff_ffe0},
		// add x0, x0, #0x30
		{"arm add", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_ADD_ABS_LO12_NC), sym: k}, 0x9100_0000, 0x9100_0000 | 0x30<<10},
		{"arm ldr b", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_LDST8_ABS_LO12_NC), sym: k, addend: 1}, 0x3940_0000, 0x3940_0000 | 0x31<<10},
		{"arm ldr h", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_LDST16_ABS_LO12_NC), sym: k}, 0x7940_0000, 0x7940_0000 | 0x18<<10},
		{"arm ldr w", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_LDST32_ABS_LO12_NC), sym: k}, 0xb940_0000, 0xb940_0000 | 0xc<<10},
		{"arm ldr x", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_LDST64_ABS_LO12_NC), sym: k}, 0xf940_0000, 0xf940_0000 | 0x6<<10},
		{"arm ldr q", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_LDST128_ABS_LO12_NC), sym: k}, 0x3dc0_0000, 0x3dc0_0000 | 0x3<<10},
		// bl f: two words back
		{"arm call", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_CALL26), sym: f}, 0x9400_0000, 0x97ff_fffe},
		{"arm jump", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_JUMP26), sym: k}, 0x1400_0000, 0x1400_0000 | 0x1028/4},
		{"arm b.cond", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_CONDBR19), sym: f}, 0x5400_0001, 0x54ff_ffc1},
		{"arm tbz", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_TSTBR14), sym: f}, 0x3600_0000, 0x3607_ffc0},
		{"arm got page", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_ADR_GOT_PAGE), sym: k}, 0x9000_0000, 0xb000_0000},
		{"arm got ldr", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_LD64_GOT_LO12_NC), sym: k}, 0xf940_0000, 0xf940_0000 | 0x9<<10},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l, mem, err := relocated(t, twoSections(c.machine, words(uint32(c.before), uint32(c.before>>32)), c.r))
			if err != nil {
				t.Fatal(err)
			}
			if got := le.Uint64(mem[8:]); got != c.want {
				t.Errorf("field %#x, want %#x", got, c.want)
			}
			if usesGOT(c.machine, c.r.typ) {
				if got := le.Uint64(mem[0x1048:]); l.got[k] != 1+0x1048 || got != base+0x1030 {
					t.Errorf("slot at %#x holds %#x", l.got[k]-1, got)
				}
			}
		})
	}
}

func TestRelocationErrors(t *testing.T) {
	cases := []struct {
		name    string
		machine elf.Machine
		r       reloc
		field   int
		want    string
	}{
		{"far", elf.EM_X86_64, reloc{typ: uint32(elf.R_X86_64_PC32), sym: 1, addend: 1 << 31}, 8, "does not fit 32 bits"},
		{"absolute 32", elf.EM_X86_64, reloc{typ: uint32(elf.R_X86_64_32S), sym: 1}, 8, "position independent"},
		{"unknown", elf.EM_X86_64, reloc{typ: 77, sym: 1}, 8, "unknown x86-64 type 77"},
		{"past end", elf.EM_X86_64, reloc{typ: uint32(elf.R_X86_64_64), sym: 1}, 7, "past the end"},
		{"past end 32", elf.EM_X86_64, reloc{typ: uint32(elf.R_X86_64_PC32), sym: 1}, 3, "past the end"},
		{"arm unknown", elf.EM_AARCH64, reloc{typ: 600, sym: 1}, 8, "unknown arm64 type 600"},
		{"arm past end", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_CALL26), sym: 2}, 3, "past the end"},
		{"arm far call", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_CALL26), sym: 2, addend: 1 << 28}, 8, "branch of 26 bits"},
		{"arm odd call", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_CALL26), sym: 2, addend: 2}, 8, "branch of 26 bits"},
		{"arm far page", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_ADR_PREL_PG_HI21), sym: 1, addend: 1 << 33}, 8, "does not fit an ADR"},
		{"arm misaligned", elf.EM_AARCH64, reloc{typ: uint32(elf.R_AARCH64_LDST128_ABS_LO12_NC), sym: 1, addend: 8}, 8, "not aligned to the 16 bytes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := relocated(t, twoSections(c.machine, make([]byte, c.field), c.r))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestArmProbe relocates LLVM's arm64 object on any machine and follows its
// calls, function table and GOT slot by decoding the words.
func TestArmProbe(t *testing.T) {
	object, err := os.ReadFile("testdata/probe.arm64.o")
	if err != nil {
		t.Fatal(err)
	}
	l, mem, err := relocated(t, object)
	if err != nil {
		t.Fatal(err)
	}
	addr := map[string]uint64{}
	for i, s := range l.obj.symbols {
		addr[s.name] = l.address(uint32(i), base)
	}
	calls, addresses, slots := 0, 0, 0
	for i, s := range l.obj.sections {
		for _, r := range s.relocs {
			at, sym := l.at[i]+r.offset, l.obj.symbols[r.sym]
			w := le.Uint32(mem[at:])
			switch r.typ {
			case uint32(elf.R_AARCH64_CALL26):
				calls++
				if got := base + at + uint64(int64(int32(w<<6))>>6<<2); got != addr[sym.name] {
					t.Errorf("call of %s goes to %#x, want %#x", sym.name, got, addr[sym.name])
				}
			case uint32(elf.R_AARCH64_ABS64):
				addresses++
				if got := le.Uint64(mem[at:]); got != addr[sym.name] {
					t.Errorf("address of %s is %#x, want %#x", sym.name, got, addr[sym.name])
				}
			case uint32(elf.R_AARCH64_ADR_GOT_PAGE):
				slots++
				page := (base+at)&^0xfff + uint64(w>>29&3|w>>5&0x7ffff<<2)<<12
				slot := l.got[r.sym] - 1
				if page != (base+slot)&^0xfff || le.Uint64(mem[slot:]) != addr[sym.name] {
					t.Errorf("slot of %s is on page %#x and holds %#x", sym.name, page, le.Uint64(mem[slot:]))
				}
			}
		}
	}
	if calls < 5 || addresses != 2 || slots != 1 {
		t.Errorf("followed %d calls, %d addresses and %d slots: the object is another one", calls, addresses, slots)
	}
}
