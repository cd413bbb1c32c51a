package emit

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"strings"
	"testing"

	"ptc/backend/cpu/llvm/target"
	"ptc/backend/kernel"
)

const tiled = "cpu:x86-64-v4+amx"

// tileKernel multiplies two tile registers.
func tileKernel(t testing.TB, tasks int64) *kernel.Kernel {
	b := kernel.New("tiles", tasks)
	in := b.Arg("in", kernel.I32, 512, kernel.Read)
	out := b.Arg("out", kernel.F32, 256*tasks, kernel.Write)
	b.TileZero(2)
	b.TileLoad(0, in.At(kernel.Int(0)).Strided(16))
	b.TileLoad(1, in.At(kernel.Int(16)).Strided(32))
	b.TileDot(2, 0, 1)
	b.TileStore(out.At(b.Task().Mul(256)).Strided(16), 2)
	return build(t, b)
}

// TestTileInstructions: each is there once, the configuration before the loop over
// tasks and the release behind it; targets without them refuse.
func TestTileInstructions(t *testing.T) {
	asm := assembly(t, tiled, tileKernel(t, 3))
	at := -1
	for _, want := range []string{"ldtilecfg", "tilezero", "tileloadd", "tileloadd", "tdpbf16ps", "tilestored", "tilerelease"} {
		next := strings.Index(asm[at+1:], "\t"+want)
		if next < 0 {
			t.Fatalf("no %s where it is expected:\n%s", want, asm)
		}
		at += 1 + next
	}
	n := strings.Count(asm, "tdpbf16ps") // LLVM may unroll the loop over tasks
	for what, want := range map[string]int{"tilezero": n, "tileloadd": 2 * n, "tilestored": n, "ldtilecfg": 1, "tilerelease": 1} {
		if got := strings.Count(asm, "\t"+what); got != want {
			t.Errorf("%d of %s for %d products, want %d\n%s", got, what, n, want, asm)
		}
	}
	tgt, err := target.Resolve("cpu:x86-64-v4+avx512bf16")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Module(tgt, tileKernel(t, 1)); err == nil || !strings.Contains(err.Error(), "need a processor with AMX") {
		t.Errorf("error %v", err)
	}
}

// TestTileConfiguration compares the block in the object with the table of LDTILECFG:
// palette, first row, 14 bytes of zeros, 16 numbers of two bytes each, 16 of one byte.
func TestTileConfiguration(t *testing.T) {
	tgt, err := target.Resolve(tiled)
	if err != nil {
		t.Fatal(err)
	}
	obj := compile(t, tgt, tileKernel(t, 1))
	want, err := hex.DecodeString("01" + "00" + strings.Repeat("00", 14) +
		strings.Repeat("4000", 8) + strings.Repeat("0000", 8) + strings.Repeat("10", 8) + strings.Repeat("00", 8))
	if err != nil || len(want) != 64 {
		t.Fatal(len(want), err)
	}
	f, err := elf.NewFile(bytes.NewReader(obj))
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name != "tile.configuration" {
			continue
		}
		section := f.Sections[s.Section]
		data, err := section.Data()
		if err != nil {
			t.Fatal(err)
		}
		if got := data[s.Value : s.Value+s.Size]; !bytes.Equal(got, want) || section.Flags&elf.SHF_WRITE != 0 {
			t.Errorf("found %x in %s, want %x", got, section.Name, want)
		}
		return
	}
	t.Error("the object has no configuration")
}
