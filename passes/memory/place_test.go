package memory

import (
	"math/rand"
	"testing"
	"time"
)

// someBuffers is n intervals of calls with sizes, as a program of the given
// length has them: most are short, some last to the backward pass.
func someBuffers(r *rand.Rand, n, calls int) []*buffer {
	out := make([]*buffer, n)
	for i := range out {
		lo := r.Intn(calls)
		hi := lo + r.Intn(6)
		if r.Intn(3) == 0 {
			hi = 2*calls - lo
		}
		out[i] = &buffer{lo: lo, hi: hi, bytes: aligned(1 + r.Int63n(1<<uint(6+r.Intn(12))))}
	}
	return out
}

// apart fails where two buffers that live at the same time share a byte, and
// returns the height.
func apart(t *testing.T, bufs []*buffer, base int64) int64 {
	t.Helper()
	top := base
	for i, a := range bufs {
		if a.offset < base || a.offset%Align != 0 {
			t.Fatalf("buffer %d at %d, base %d", i, a.offset, base)
		}
		top = max(top, a.offset+a.bytes)
		for j, b := range bufs[:i] {
			if a.lo <= b.hi && b.lo <= a.hi && a.offset < b.offset+b.bytes && b.offset < a.offset+a.bytes {
				t.Fatalf("buffers %+v (%d) and %+v (%d) overlap", *a, i, *b, j)
			}
		}
	}
	return top - base
}

func TestPlace(t *testing.T) {
	var height, bound float64
	for seed := int64(1); seed <= 300; seed++ {
		r := rand.New(rand.NewSource(seed))
		bufs := someBuffers(r, 1+r.Intn(60), 1+r.Intn(40))
		base := Align * r.Int63n(4)
		place(bufs, base)
		h, least := apart(t, bufs, base), mostLive(bufs)
		if h < least {
			t.Fatalf("seed %d: %d bytes for %d that are live at once", seed, h, least)
		}
		height, bound = height+float64(h), bound+float64(least)
	}
	if height > 1.05*bound {
		t.Errorf("%.3f times the bytes that are live at once", height/bound)
	}
}

// Where buffers live one after the other, or all at once, the bound is met.
func TestPlaceEasy(t *testing.T) {
	for name, bufs := range map[string][]*buffer{
		"none":       nil,
		"in turn":    {{lo: 0, hi: 1, bytes: 64}, {lo: 2, hi: 3, bytes: 128}, {lo: 4, hi: 9, bytes: 64}},
		"all":        {{lo: 0, hi: 9, bytes: 64}, {lo: 3, hi: 5, bytes: 128}, {lo: 5, hi: 6, bytes: 64}},
		"at one end": {{lo: 0, hi: 3, bytes: 64}, {lo: 3, hi: 5, bytes: 64}},
		"a stack":    {{lo: 0, hi: 9, bytes: 64}, {lo: 1, hi: 8, bytes: 128}, {lo: 2, hi: 7, bytes: 64}, {lo: 9, hi: 9, bytes: 128}},
	} {
		place(bufs, 0)
		if h, least := apart(t, bufs, 0), mostLive(bufs); h != least {
			t.Errorf("%s: %d bytes, %d are live at once", name, h, least)
		}
	}
}

func TestMostLive(t *testing.T) {
	for seed := int64(1); seed <= 200; seed++ {
		r := rand.New(rand.NewSource(seed))
		bufs := someBuffers(r, r.Intn(12), 1+r.Intn(8))
		var most int64
		for at := 0; at < 40; at++ {
			var live int64
			for _, b := range bufs {
				if b.lo <= at && at <= b.hi {
					live += b.bytes
				}
			}
			most = max(most, live)
		}
		if got := mostLive(bufs); got != most {
			t.Fatalf("seed %d: %d, by trying every call %d", seed, got, most)
		}
	}
}

// Thousands of buffers, as a deep model unrolled over microbatches has them.
func TestPlaceMany(t *testing.T) {
	bufs := someBuffers(rand.New(rand.NewSource(1)), 6000, 4000)
	start := time.Now()
	place(bufs, 0)
	took := time.Since(start)
	h, least := apart(t, bufs, 0), mostLive(bufs)
	t.Logf("%d buffers in %v: %.3f of what is live at once", len(bufs), took, float64(h)/float64(least))
	if float64(h) > 1.1*float64(least) {
		t.Errorf("%d bytes for %d", h, least)
	}
	if took > time.Minute { // well below a second on a machine that is not busy
		t.Errorf("took %v", took)
	}
}
