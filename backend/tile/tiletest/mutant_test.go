package tiletest

import (
	"math/rand"
	"slices"
	"strings"
	"testing"

	"ptc/backend/tile"
)

// sound is a program with all that a check is about: staged copies, work memory between
// phases, sums in place, lookups.
const sound = `tile @k
  arg x : f32[48] read
  arg n : i32[8] read
  arg y : f32[48] readwrite
  work w : f32[48]
  view vx : x [a=8:6, c=6:1]
  view vn : n [a=8:1]
  view vy : y [a=8:6, c=6:1]
  view vw : w [a=8:6, c=6:1]
  phase a in a=8 by 3, c in c=6 by 6
    %0 : shared f32[a, c] = copy vx[a, c]
    %9 : f32[c] = const 0
    wait %0
    store vw[a, c], %0
    store vy[a, c], %9
  end
  phase c in c=6 by 4
    %1 : f32[c] = const 1
    %2 : f32[c] = loop a in a=8 by 1 stages 2 carry %3 : f32[c] = %1
      %4 : shared f32[c] = copy vw[a, c]
      %5 : i32[] = load vn[a]
      wait %4
      %6 : f32[c] = add %3, %4
      scatter vy[%5, c], %6
      yield %6
    end
    %7 : f32[c] = load vy[7, c]
    %8 : f32[c] = add %2, %7
    store vy[7, c], %8
  end
end
`

// Each check finds the fault that is made for it, for every seed; the program itself
// has none. Faults that the verifier finds first are made known to it as well: they are
// interpreted nevertheless, since the interpreter does not rely on it.
func TestMutants(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		want           string
		refused        bool // by the verifier too
	}{
		{"two tasks store an element", "store vw[a, c], %0", "store vw[1, c], %9", "is written by tasks", true},
		{"two tasks store an element, by their positions", "a in a=8 by 3, c", "a in a=8 by 3, b in a=8 by 4, c", "is written by tasks", true},
		{"a task reads what another stores", "    store vy[a, c], %9", "    store vy[a, c], %9\n    %1 : i32[a] = load vn[a]\n    %2 : f32[a, c] = load vw[%1, c]", "of the same phase|nothing has written it", false},
		{"a copy is read before it ends", "    wait %0\n    store vw[a, c], %0", "    store vw[a, c], %0\n    wait %0", "read before it is waited for", true},
		{"a copy is never waited for", "    wait %0\n    store vw[a, c], %0", "    store vw[a, c], %9", "never waited for", false},
		{"the source of a copy is written while it is under way", "    wait %4\n      %6 : f32[c] = add %3, %4", "    store vw[a, c], %3\n      wait %4\n      %6 : f32[c] = add %3, %4", "written while a copy may read it", false},
		{"the source of a copy is written too late for its stage", "      yield %6", "      %20 : i32[] = first a\n      %21 : i32[] = const 1\n      %22 : i32[] = add %20, %21\n      store vw[%22, c], %6\n      yield %6", "written after the copy may have been issued, 2 stages ahead", false},
		{"what nobody wrote is read", "    store vw[a, c], %0\n", "", "nothing has written it", true},
		{"a part of what is read was not written", "a in a=8 by 3, c in", "a in a=7 by 3, c in", "nothing has written it", false},
		{"a sum starts from nothing", "    store vy[a, c], %9\n", "", "nothing has written it", false},
		{"two elements go to one place", "store vy[7, c], %8", "store vy[7, 0*c], %8", "two elements of one tile", true},
		{"a position is out of the view", "vx[a, c]", "vx[a + 1, c]", "position 8 along a of vx, which has 8", true},
		{"a tile is used after its loop", "%8 : f32[c] = add %2, %7", "%8 : f32[c] = add %2, %7", "read where it is not", true},
	} {
		text := strings.Replace(sound, c.old, c.new, 1)
		p := program(t, text)
		if c.name == "a tile is used after its loop" {
			loop := p.Phases[1].Body.Ops[1]
			last := p.Phases[1].Body.Ops[3]
			last.Args[0] = loop.Loop.Body.Ops[0].Result()
		}
		if err := tile.Verify(p); (err != nil) != c.refused {
			t.Errorf("%s: the verifier says %v\n%s", c.name, err, text)
		}
		for seed := range int64(8) {
			all, _ := memories(p, rand.New(rand.NewSource(3)))
			err := Options{Seed: seed}.Run(p, all)
			if err == nil || !slices.ContainsFunc(strings.Split(c.want, "|"), func(w string) bool { return strings.Contains(err.Error(), w) }) {
				t.Errorf("%s, seed %d: %v; want %q", c.name, seed, err, c.want)
				break
			}
		}
	}
}

// The program without a fault runs for every seed, to the same numbers.
func TestSound(t *testing.T) {
	p := program(t, sound)
	if err := tile.Verify(p); err != nil {
		t.Fatal(err)
	}
	var want []float64
	for seed := range int64(20) {
		all, _ := memories(p, rand.New(rand.NewSource(3)))
		if err := (Options{Seed: seed}).Run(p, all); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = append([]float64(nil), all[2].Data...)
		}
		for i, x := range all[2].Data {
			if x != want[i] {
				t.Fatalf("seed %d: element %d is %v, and %v for seed 0", seed, i, x, want[i])
			}
		}
	}
}

// A phase that is joined with the one before it has a race.
func TestBarrierTakenAway(t *testing.T) {
	const text = `tile @k
  arg y : f32[8] write
  work w : f32[8]
  view vy : y [a=8:1]
  view vw : w [a=8:1]
  phase a in a=8 by 2
    %0 : f32[] = const 1
    store vw[a], %0
  end
  phase a in a=8 by 2
    %1 : f32[a] = load vw[-1*a + 7]
    store vy[a], %1
  end
end
`
	run := func(text string) error {
		p := program(t, text)
		if err := tile.Verify(p); err != nil {
			t.Fatal(err)
		}
		return Options{Seed: 2}.Run(p, []*Memory{Blank(8)})
	}
	if err := run(text); err != nil {
		t.Error(err)
	}
	joined := strings.Replace(text, "  end\n  phase a in a=8 by 2\n", "", 1)
	if err := run(joined); err == nil || !strings.Contains(err.Error(), "of the same phase") && !strings.Contains(err.Error(), "nothing has written it") {
		t.Errorf("%v", err)
	}
}

// Memory of the wrong size is an error, not a panic.
func TestMemoryOfAnotherSize(t *testing.T) {
	p := program(t, sound)
	for _, args := range [][]*Memory{nil, {Blank(1)}, {Blank(48), Blank(8), Blank(48), Blank(1)}} {
		if err := (Options{}).Run(p, args); err == nil {
			t.Errorf("%d memories are taken", len(args))
		}
	}
}
