package cuda

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/device"
)

// TestTimed: a program that is timed computes what it computes otherwise, whatever the cuts, and every
// launch takes the time of its kernel by the device's clock, one behind the other.
func TestTimed(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		toy := random(rng, seed%2 == 0)
		drv := onFake(t, fakecuda.Options{Seed: seed})
		e, p, err := toy.opened(device.Request{Rank: sliceRank, Exchanges: &exchanges{toy: toy, late: seed%4 == 0}})
		if err != nil {
			t.Fatal(err)
		}
		n := len(toy.d.Progs[0].Instrs)
		cuts := []int{0}
		for cuts[len(cuts)-1] < n {
			cuts = append(cuts, min(n, cuts[len(cuts)-1]+1+rng.IntN(3)/2))
		}
		s := toy.fresh(rng)
		if err := toy.write(e, s); err != nil {
			t.Fatal(err)
		}
		half := len(cuts) / 2
		spans := make([]device.Interval, len(cuts)-1)
		x := p.(device.Timed)
		toy.run(s, together)
		if err := errors.Join(x.StepTimed(cuts[:half+1], spans[:half]), x.StepTimed(cuts[half:], spans[half:]), toy.compare(e, s)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for k, s := range spans {
			if k > 0 && s.Start.Before(spans[k-1].Start) || s.End.Before(s.Start) {
				t.Errorf("seed %d: launch %d is from %v to %v, the one before from %v", seed, k, s.Start, s.End, spans[max(0, k-1)].Start)
			}
			in := &toy.d.Progs[0].Instrs[cuts[k]]
			if took := s.End.Sub(s.Start); cuts[k+1] == cuts[k]+1 && in.Comm == nil && took != timeOf(t, in.Kernel) {
				t.Errorf("seed %d: kernel %d took %v; expected %v", seed, in.Kernel, took, timeOf(t, in.Kernel))
			}
		}
		e.Close()
		clean(t, drv)
	}
}

// timeOf is what a kernel takes by the clock of the fake device: a nanosecond for each instruction of each warp.
func timeOf(t *testing.T, kernel int) time.Duration {
	t.Helper()
	_, ks := kernels()
	k := ks[kernel]
	words := map[int]string{mix: "mul.lo.u32 %r4, %r1, 3;\nmul.lo.u32 %r7, %r2, 5;\nadd.u32 %r4, %r4, %r7;", stir: "mul.lo.u32 %r4, %r2, 7;\nadd.u32 %r4, %r4, %r1;", next: "add.u32 %r4, %r1, 1;"}
	text := entry(k.Symbol, len(k.Args), words[kernel])
	body := text[strings.Index(text, "{"):]
	instructions := strings.Count(body, ";") - 3 // without the registers
	return time.Duration(instructions*int(k.Tasks)*threads/32) * time.Nanosecond
}

// TestManyEvents: a program of more launches than there are events is timed in stretches.
func TestManyEvents(t *testing.T) {
	toy := newToy()
	a, b := toy.buffer("", "i32", elems), toy.buffer("", "i32", elems)
	toy.kernel(next, a, b)
	for range maxEvents {
		toy.kernel(nothing)
	}
	toy.kernel(next, b, a)
	drv := onFake(t, fakecuda.Options{})
	e, p, err := toy.opened(device.Request{})
	if err != nil {
		t.Fatal(err)
	}
	var cuts []int
	for i := range len(toy.d.Progs[0].Instrs) + 1 {
		cuts = append(cuts, i)
	}
	s, spans := toy.fresh(rand.New(rand.NewPCG(1, 1))), make([]device.Interval, len(cuts)-1)
	if err := toy.write(e, s); err != nil {
		t.Fatal(err)
	}
	toy.run(s, nil)
	if err := errors.Join(p.(device.Timed).StepTimed(cuts, spans), toy.compare(e, s)); err != nil {
		t.Fatal(err)
	}
	last := len(spans) - 1
	if n := drv.Called("cuEventCreate"); n > maxEvents || spans[last].End.Sub(spans[last].Start) != timeOf(t, next) || spans[1].End != spans[1].Start {
		t.Errorf("%d events; %v, %v", n, spans[last], spans[1])
	}
	for _, wrong := range [][]int{nil, {0}, {0, 1, 2}} {
		if p.(device.Timed).StepTimed(wrong, spans[:1]) == nil {
			t.Errorf("cuts %v and one interval", wrong)
		}
	}
	e.Close()
	clean(t, drv)
}

// TestTimedFailures: a call that fails while a program is timed is an error, and nothing is left.
func TestTimedFailures(t *testing.T) {
	toy := offloading()
	n := len(toy.d.Progs[0].Instrs)
	var cuts []int
	for i := range n + 1 {
		cuts = append(cuts, i)
	}
	life := func(drv *fakecuda.Driver, fail func()) (calls int, err error) {
		e, p, err := toy.opened(device.Request{Rank: sliceRank, Exchanges: &exchanges{toy: toy}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if err := toy.write(e, toy.fresh(rand.New(rand.NewPCG(1, 1)))); err != nil {
			t.Fatal(err)
		}
		before := drv.Calls()
		fail()
		err = p.(device.Timed).StepTimed(cuts, make([]device.Interval, n))
		return drv.Calls() - before, err
	}
	drv := onFake(t, fakecuda.Options{})
	calls, err := life(drv, func() {})
	if err != nil || calls < 30 {
		t.Fatalf("%d calls, %v", calls, err)
	}
	for _, result := range []int{fakecuda.OutOfMemory, fakecuda.LaunchFailed} {
		for at := 1; at <= calls; at++ {
			drv := onFake(t, fakecuda.Options{})
			if _, err := life(drv, func() { drv.Fail("", at, result) }); err == nil {
				t.Errorf("call %d gives %d, and there is no error", at, result)
			}
			clean(t, drv)
		}
	}
}
