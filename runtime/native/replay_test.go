package native

import (
	"debug/elf"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"
)

// ints is n integers outside Go's heap, and their address.
func ints(t testing.TB, n int) ([]int64, uintptr) {
	t.Helper()
	mem, free, err := Alloc(8 * n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(free)
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(mem))), n), Address(mem)
}

// counting is a program of the probe object: bump, fill, gather (see its source
// in backend/cpu/llvm, replay_test.go), over n tasks. After s replays b[i] is
// s·(n-1-i) + s(s+1)/2. Instruction i is thread 0's alone where alone has bit i.
func counting(t testing.TB, n, threads, alone int) (*Program, []int64) {
	t.Helper()
	_, a := ints(t, n)
	bs, b := ints(t, n)
	_, cell := ints(t, 1)
	sizes, size := ints(t, 1)
	sizes[0] = int64(n)
	p, err := NewProgram(loadProbe(t), []Instr{
		{Kernel: "bump", Bufs: []uintptr{cell}, Tasks: 1, Alone: alone&1 != 0},
		{Kernel: "fill", Bufs: []uintptr{a, cell}, Tasks: int64(n), Alone: alone&2 != 0},
		{Kernel: "gather", Bufs: []uintptr{a, b, size}, Tasks: int64(n), Alone: alone&4 != 0},
	}, threads, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, bs
}

func newTeam(t testing.TB, threads int) *Team {
	t.Helper()
	team, err := NewTeam(threads)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(team.Close)
	return team
}

// TestReplayTeams runs one program over and over, on teams that are larger than
// most machines too.
func TestReplayTeams(t *testing.T) {
	const n, steps = 37, 2000
	for _, threads := range []int{1, 2, 3, 7} {
		steps := steps / (1 + threads/3)
		p, b := counting(t, n, threads, 0)
		team := newTeam(t, threads)
		for range steps {
			if err := team.Replay(p, 0, p.Len()); err != nil {
				t.Fatal(err)
			}
		}
		for i, got := range b {
			if want := int64(steps*(n-1-i) + steps*(steps+1)/2); got != want {
				t.Fatalf("%d threads: b[%d] = %d, want %d", threads, i, got, want)
			}
		}
	}
}

// TestReplayRanges replays the same program in pieces.
func TestReplayRanges(t *testing.T) {
	const n, steps = 20, 50
	p, b := counting(t, n, 2, 0)
	team := newTeam(t, 2)
	for range steps {
		for _, r := range [][2]int{{0, 2}, {2, 2}, {2, 3}} {
			if err := team.Replay(p, r[0], r[1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := int64(steps*(n-1) + steps*(steps+1)/2); b[0] != want {
		t.Errorf("b[0] = %d, want %d", b[0], want)
	}
}

// TestAlone has thread 0 run all tasks of some instructions, or of all: then no other
// thread takes part, and how it waits cannot matter.
func TestAlone(t *testing.T) {
	const n, steps = 20, 200
	for mask := range 8 {
		for _, look := range []bool{false, true} {
			p, b := counting(t, n, 3, mask)
			if all := p.shared[p.n] == 0; all != (mask&6 == 6) {
				t.Errorf("mask %d: all alone is %v", mask, all)
			}
			team := newTeam(t, 3)
			team.done.look = look
			for s := range steps {
				if err := team.Replay(p, 0, p.Len()); err != nil {
					t.Fatal(err)
				}
				if s%50 == 0 {
					time.Sleep(2 * lookFor) // the others fall asleep
				}
			}
			if want := int64(steps*(n-1) + steps*(steps+1)/2); b[0] != want {
				t.Errorf("mask %d: b[0] = %d, want %d", mask, b[0], want)
			}
			team.Close()
		}
	}
}

// TestReplayFromManyGoroutines: replays of a team and of a program queue up.
func TestReplayFromManyGoroutines(t *testing.T) {
	const n, steps, callers = 8, 30, 4
	p, b := counting(t, n, 2, 0)
	teams := []*Team{newTeam(t, 2), newTeam(t, 2)}
	var wg sync.WaitGroup
	for c := range callers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range steps {
				if err := teams[c%2].Replay(p, 0, 3); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	const s = steps * callers
	if want := int64(s*(n-1) + s*(s+1)/2); b[0] != want {
		t.Errorf("b[0] = %d, want %d", b[0], want)
	}
}

func TestReplayDoesNotAllocate(t *testing.T) {
	for _, threads := range []int{1, 2} {
		p, _ := counting(t, 8, threads, 0)
		team := newTeam(t, threads)
		if n := testing.AllocsPerRun(200, func() { _ = team.Replay(p, 0, 3) }); n != 0 {
			t.Errorf("%d threads: %v allocations", threads, n)
		}
	}
}

func TestReplayErrors(t *testing.T) {
	p, _ := counting(t, 8, 2, 0)
	team := newTeam(t, 2)
	for _, r := range [][2]int{{-1, 2}, {0, 4}, {2, 1}} {
		if err := team.Replay(p, r[0], r[1]); !errors.Is(err, errRange) {
			t.Errorf("range %v: %v", r, err)
		}
	}
	if err := newTeam(t, 3).Replay(p, 0, 3); !errors.Is(err, errThreads) {
		t.Errorf("team of another size: %v", err)
	}
	team.Close()
	team.Close()
	if err := team.Replay(p, 0, 3); !errors.Is(err, errClosed) {
		t.Errorf("closed team: %v", err)
	}
	p.Close()
	if err := newTeam(t, 2).Replay(p, 0, 0); !errors.Is(err, errClosed) {
		t.Errorf("closed program: %v", err)
	}
	if _, err := NewTeam(0); err == nil {
		t.Error("a team of no threads")
	}
}

func TestNewProgramErrors(t *testing.T) {
	img := loadProbe(t)
	cases := []struct {
		instr   Instr
		threads int
		scratch int
		want    string
	}{
		{Instr{Kernel: "nobody"}, 1, 0, `no kernel "nobody"`},
		{Instr{Kernel: "bump", Tasks: -1}, 1, 0, "-1 tasks"},
		{Instr{Kernel: "bump", Tasks: 1, Bufs: []uintptr{8, 0}}, 1, 0, "buffer 1 of kernel"},
		{Instr{Kernel: "bump", With: true}, 1, 0, "launched with one of another kernel"},
		{Instr{Kernel: "bump"}, 0, 0, "0 threads"},
		{Instr{Kernel: "bump"}, 1, -1, "-1 bytes of scratch"},
		{Instr{Kernel: "bump"}, 2, maxAlloc, "bytes of scratch"},
	}
	for _, c := range cases {
		if _, err := NewProgram(img, []Instr{c.instr}, c.threads, c.scratch); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.instr, err, c.want)
		}
	}
	bare, err := Load(buildObject(hostMachine(), []testSection{{name: ".text", typ: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, data: make([]byte, 4)}}, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	if _, err := NewProgram(bare, nil, 1, 0); err == nil || !strings.Contains(err.Error(), replaySymbol) {
		t.Errorf("image without the driver: %v", err)
	}
}

// TestBarriers compares, for random programs, the order that remains when
// barriers are left out with the order that the program asks for: i before j if
// an instruction of i … j-1 is not Independent.
func TestBarriers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	left := 0
	for range 5000 {
		instrs := make([]Instr, 1+rng.IntN(7))
		for i := range instrs {
			instrs[i] = Instr{Tasks: int64(rng.IntN(3)), Independent: rng.IntN(2) == 0, Alone: rng.IntN(3) == 0}
			if i > 0 && rng.IntN(4) == 0 {
				instrs[i].With, instrs[i].Tasks, instrs[i].Alone, instrs[i-1].Independent = true, instrs[i-1].Tasks, instrs[i-1].Alone, true
			}
		}
		single := func(i int) bool {
			with := instrs[i].With || i+1 < len(instrs) && instrs[i+1].With
			return instrs[i].Alone || instrs[i].Tasks <= 1 && !with
		}
		skip := barriers(instrs)
		for i := range instrs {
			asked, kept := false, false
			for j := i + 1; j < len(instrs); j++ {
				asked = asked || !instrs[j-1].Independent
				kept = kept || !skip[j-1]
				onThread0 := single(i) && single(j)
				if asked && !kept && !onThread0 {
					t.Fatalf("%+v: %d and %d are not ordered by %v", instrs, i, j, skip)
				}
			}
			if skip[i] && !instrs[i].Independent {
				left++
			}
		}
	}
	if left == 0 {
		t.Error("no barrier was ever left out")
	}
}

func TestAlloc(t *testing.T) {
	for _, n := range []int{0, 1, 4096, hugePage / 8, 3 << 20} {
		mem, free, err := Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		align := uintptr(64)
		if n >= hugePage/8 {
			align = hugePage
		}
		if len(mem) != n || n > 0 && Address(mem)%align != 0 {
			t.Errorf("%d bytes: got %d at %#x", n, len(mem), Address(mem))
		}
		if n > 0 {
			mem[0], mem[n-1] = 1, 1
		}
		free()
	}
	if _, _, err := Alloc(-1); err == nil {
		t.Error("allocated -1 bytes")
	}
	if _, _, err := Alloc(maxAlloc); err == nil {
		t.Error("allocated more than there is")
	}
}

func TestSupported(t *testing.T) {
	if err := supported(nil, hostHas, refused); err != nil {
		t.Error(err)
	}
	if err := Supported(DescribeCPU().Features); err != nil {
		t.Error(err)
	}
	has := func(f string) (bool, bool) { return f == "avx", f != "warp" }
	given := func(string) error { return nil }
	err := supported([]string{"fma", "avx", "bmi", "warp"}, has, given)
	if err == nil || !strings.Contains(err.Error(), "lacks bmi, fma;") || !strings.Contains(err.Error(), "no warp;") {
		t.Errorf("error %v", err)
	}
	denied := func(string) error { return errors.New("denied") }
	if err := supported([]string{"avx", "amx-tile"}, func(f string) (bool, bool) { return f == "avx", true }, denied); err == nil ||
		!strings.Contains(err.Error(), "lacks amx-tile, which its processor has: denied; `ptc run --rebuild`") {
		t.Errorf("error %v", err)
	}
	auxv := words(16, 0, 1<<8, 0, 26, 0, 1<<14, 0, 0, 0, 0, 0)
	for f, want := range map[string]bool{"lse": true, "bf16": true, "sve": false, "sve2": false} {
		if got := auxBit(auxv, armFeatures[f]); got != want {
			t.Errorf("%s: %v, want %v", f, got, want)
		}
	}
}
