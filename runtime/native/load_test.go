package native

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// probeObject is the object for this machine that backend/cpu/llvm compiled; its
// source, with what it computes, is there (probe_test.go).
func probeObject(t testing.TB) []byte {
	t.Helper()
	object, err := os.ReadFile("testdata/probe." + runtime.GOARCH + ".o")
	if err != nil {
		t.Fatalf("%v: there is an object for amd64 and for arm64", err)
	}
	return object
}

func loadProbe(t testing.TB) *Image {
	t.Helper()
	img, err := Load(probeObject(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(img.Close)
	return img
}

// hostMachine is this machine's ELF number.
func hostMachine() elf.Machine { return machines[runtime.GOARCH] }

func TestLoadedCodeComputes(t *testing.T) {
	img := loadProbe(t)
	const tasks = 8
	out, outAddr := ints(t, tasks*16)
	p, err := NewProgram(img, []Instr{{Kernel: "probe", Bufs: []uintptr{outAddr}, Tasks: tasks}}, 1, 64)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	team, err := NewTeam(1)
	if err != nil {
		t.Fatal(err)
	}
	defer team.Close()
	if err := team.Replay(p, 0, 1); err != nil {
		t.Fatal(err)
	}
	picked := []int64{100, -50, 7, 33, 44, -10, -1, -1} // task 2 reads the counter after two counts
	for i := range int64(tasks) {
		through := 2 * i
		if i%2 == 1 {
			through = -i
		}
		want := []int64{picked[i], 87, 6 + i, 700, through, i}
		if got := out[i*16 : i*16+6]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("task %d: %v, want %v", i, got, want)
		}
	}
}

// TestWritableOrExecutable reads the protection of each group from the system.
func TestWritableOrExecutable(t *testing.T) {
	img := loadProbe(t)
	want := map[string]string{"probe": "r-x", "shared": "rw-"}
	for name, prot := range want {
		a, ok := img.Symbol(name)
		if !ok {
			t.Fatalf("no symbol %s", name)
		}
		if got := protection(t, a); got != prot {
			t.Errorf("%s is mapped %s, want %s", name, got, prot)
		}
	}
	if _, ok := img.Symbol("counter"); ok {
		t.Error("a local symbol is exported")
	}
}

// protection is the permission of the mapping around an address, as in
// /proc/self/maps.
func protection(t *testing.T, a uintptr) string {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(maps), "\n") {
		var lo, hi uintptr
		var prot string
		if n, _ := fmt.Sscanf(line, "%x-%x %3s", &lo, &hi, &prot); n == 3 && lo <= a && a < hi {
			return prot
		}
	}
	return "none"
}

func TestUndefinedSymbolsAreNamed(t *testing.T) {
	call := []testSection{{name: ".text", typ: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, data: make([]byte, 16),
		relocs: []reloc{{offset: 1, typ: uint32(elf.R_X86_64_PLT32), sym: 1}, {offset: 8, typ: uint32(elf.R_X86_64_PLT32), sym: 2}}}}
	_, err := Load(buildObject(hostMachine(), call, []testSymbol{{"memset", 1 << 4, 0, 0}, {"expf", 1 << 4, 0, 0}}))
	if err == nil || !strings.Contains(err.Error(), "undefined symbols: expf, memset") {
		t.Errorf("error %v", err)
	}
}

func TestLoadRejects(t *testing.T) {
	text := func(edit func(s *testSection)) []testSection {
		s := testSection{name: ".text", typ: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, align: 16, data: make([]byte, 16)}
		edit(&s)
		return []testSection{s}
	}
	plain := func(*testSection) {}
	other := elf.EM_X86_64 + elf.EM_AARCH64 - hostMachine()
	good := buildObject(hostMachine(), text(plain), nil)
	patch := func(at int, b ...byte) []byte {
		o := bytes.Clone(good)
		copy(o[at:], b)
		return o
	}
	header := int(le.Uint64(good[40:])) + shdrSize // that of the first section
	all := make([]byte, 8)
	le.PutUint64(all, uint64(len(good)))
	object := func(s []testSection, syms ...testSymbol) []byte { return buildObject(hostMachine(), s, syms) }
	cases := []struct {
		name   string
		object []byte
		want   string
	}{
		{"empty", nil, "not an ELF64"},
		{"text", []byte(strings.Repeat("not an object ", 10)), "not an ELF64"},
		{"32 bits", patch(4, 1), "not an ELF64"},
		{"executable", patch(16, 2), "ELF type 2"},
		{"machine", patch(18, 3, 0), "ELF machine 3"},
		{"other machine", buildObject(other, text(plain), nil), "and this host is"},
		{"table outside", patch(40, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), "section table"},
		{"entry size", patch(58, 1), "section table"},
		{"overlap", func() []byte { o := patch(header+24, make([]byte, 8)...); copy(o[header+32:], all); return o }(), "sections overlap"},
		{"no names", patch(62, 0), "no table of section names"},
		{"thread-local", object(text(func(s *testSection) { s.flags |= elf.SHF_TLS })), "thread-local"},
		{"constructors", object(text(func(s *testSection) { s.typ = elf.SHT_INIT_ARRAY })), "constructors"},
		{"unknown type", object(text(func(s *testSection) { s.typ = 0x1234 })), "unknown type"},
		{"rwx", object(text(func(s *testSection) { s.flags |= elf.SHF_WRITE })), "writable and executable"},
		{"alignment", object(text(func(s *testSection) { s.align = 48 })), "alignment 48"},
		{"huge", object(text(func(s *testSection) { s.typ, s.data, s.size = elf.SHT_NOBITS, nil, 1<<40 })), "above the limit"},
		{"huge together", object(append(text(func(s *testSection) { s.typ, s.data, s.size = elf.SHT_NOBITS, nil, maxImage }),
			text(func(s *testSection) { s.typ, s.data, s.size = elf.SHT_NOBITS, nil, maxImage })...)), "above the limit"},
		{"symbol outside", object(text(plain), testSymbol{"f", globalFunc, 1, 17}), "outside its section"},
		{"symbol section", object(text(plain), testSymbol{"f", globalFunc, 99, 0}), "section 99"},
		{"relocation outside", object(text(func(s *testSection) { s.relocs = []reloc{{offset: 16, sym: 1}} }), testSymbol{"f", globalFunc, 1, 0}), "out of range"},
		{"relocation symbol", object(text(func(s *testSection) { s.relocs = []reloc{{sym: 9}} })), "out of range"},
		{"common", object(text(func(s *testSection) { s.relocs = []reloc{{sym: 1}} }), testSymbol{"c", 1 << 4, 0xfff2, 8}), "not in a loaded section"},
		{"reserved section", object(text(func(s *testSection) { s.relocs = []reloc{{sym: 1}} }), testSymbol{"x.c", 4, 0xfff0, 0}), "not in a loaded section"},
		{"ifunc", object(text(func(s *testSection) { s.relocs = []reloc{{sym: 1}} }), testSymbol{"i", byte(elf.STT_GNU_IFUNC), 1, 0}), "resolved at run time"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			img, err := Load(c.object)
			if err == nil {
				img.Close()
				t.Fatal("loaded")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q, want %q", err, c.want)
			}
		})
	}
	img, err := Load(good) // what the cases above break is in order before
	if err != nil {
		t.Fatal(err)
	}
	img.Close()
	img.Close()
}

// FuzzLoad: no bytes make Load panic, and what it maps it can unmap. A few bytes
// may ask for as large an image as the limit allows; clearing it twice would be
// nearly all that such an execution does, so that larger ones than kernels have
// are left to TestLoadRejects.
func FuzzLoad(f *testing.F) {
	for _, arch := range []string{"amd64", "arm64"} {
		object, err := os.ReadFile("testdata/probe." + arch + ".o")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(object)
	}
	f.Add(twoSections(elf.EM_X86_64, make([]byte, 8), reloc{typ: uint32(elf.R_X86_64_GOTPCREL), sym: 1}))
	f.Add(twoSections(elf.EM_AARCH64, make([]byte, 8), reloc{typ: uint32(elf.R_AARCH64_LD64_GOT_LO12_NC), sym: 1}))
	f.Fuzz(func(t *testing.T, b []byte) {
		const large = 256 << 10
		if o, err := parseObject(b); err == nil {
			if l, err := newLayout(o, uint64(os.Getpagesize())); err == nil && l.size > large {
				t.Skip()
			}
		}
		if img, err := Load(b); err == nil {
			img.Close()
		}
	})
}

// TestTruncated loads every prefix of a real object.
func TestTruncated(t *testing.T) {
	object := probeObject(t)
	for n := range len(object) {
		if _, err := Load(object[:n]); err == nil {
			t.Fatalf("%d of %d bytes loaded", n, len(object))
		}
	}
}
