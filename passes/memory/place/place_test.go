package place

import (
	"cmp"
	"math/rand"
	"slices"
	"testing"
)

const unit = 64

// program is n buffers of a program with so many calls, forward and backward: most
// are short, some last to the backward pass.
func program(r *rand.Rand, n, calls int) []Buffer {
	out := make([]Buffer, n)
	for i := range out {
		lo := r.Intn(calls)
		hi := lo + r.Intn(6)
		if r.Intn(3) == 0 {
			hi = 2*calls - lo
		}
		out[i] = Buffer{lo, hi + 1, unit * (1 + r.Int63n(1<<r.Intn(12)))}
	}
	return out
}

// cuttings is a rectangle of the given times and bytes that was cut in two, and
// again, until there are n buffers: they fit into it without a gap.
func cuttings(r *rand.Rand, n, times int, height int64) []Buffer {
	out := []Buffer{{0, times, height}}
	for len(out) < n {
		// The largest of a few, so that the sizes are alike.
		best := r.Intn(len(out))
		for range 3 {
			if i := r.Intn(len(out)); out[i].area() > out[best].area() {
				best = i
			}
		}
		b := out[best]
		if r.Intn(2) == 0 && b.Hi-b.Lo > 1 {
			at := b.Lo + 1 + r.Intn(b.Hi-b.Lo-1)
			out[best].Hi = at
			out = append(out, Buffer{at, b.Hi, b.Size})
		} else if b.Size > unit {
			size := unit * (1 + r.Int63n(b.Size/unit-1))
			out[best].Size = size
			out = append(out, Buffer{b.Lo, b.Hi, b.Size - size})
		}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// valid checks a plan and its figures.
func valid(t *testing.T, bufs []Buffer, p Plan) {
	t.Helper()
	if err := Check(bufs, p.Offsets); err != nil {
		t.Fatal(err)
	}
	if h := height(bufs, p.Offsets); h != p.Height || h < p.Bound {
		t.Fatalf("height %d, it is %d, and %d at least", p.Height, h, p.Bound)
	}
}

// quick is what first-fit reaches in its best order.
func quick(bufs []Buffer) int64 {
	least := int64(-1)
	for _, compare := range orders {
		order := make([]int, len(bufs))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return compare(bufs[i], bufs[j]) })
		offsets, _ := firstFit(bufs, order)
		if h := height(bufs, offsets); least < 0 || h < least {
			least = h
		}
	}
	return least
}

// On random programs plans are right, aligned, the same again, and never above
// those of first-fit.
func TestPlace(t *testing.T) {
	var reached, bound float64
	for seed := int64(1); seed <= 300; seed++ {
		r := rand.New(rand.NewSource(seed))
		bufs := program(r, 1+r.Intn(60), 1+r.Intn(40))
		o := Options{Work: 1 << 21}
		p := Place(bufs, o)
		valid(t, bufs, p)
		for i, at := range p.Offsets {
			if at%unit != 0 {
				t.Fatalf("seed %d: buffer %d at %d", seed, i, at)
			}
		}
		if q := quick(bufs); p.Height > q {
			t.Errorf("seed %d: %d bytes, first-fit %d", seed, p.Height, q)
		}
		if again := Place(bufs, o); !slices.Equal(p.Offsets, again.Offsets) || p.Work != again.Work {
			t.Errorf("seed %d: another plan, or other work, the second time", seed)
		}
		reached, bound = reached+float64(p.Height), bound+float64(p.Bound)
	}
	if reached > 1.001*bound {
		t.Errorf("%.4f times the bytes that are in use at once", reached/bound)
	}
}

// Buffers that fill a rectangle are placed in it again, which first-fit does not
// do.
func TestCuttings(t *testing.T) {
	above := 0
	for seed := int64(1); seed <= 12; seed++ {
		r := rand.New(rand.NewSource(seed))
		const capacity = 1 << 20
		bufs := cuttings(r, 40+r.Intn(60), 1000, capacity)
		p := Place(bufs, Options{})
		valid(t, bufs, p)
		t.Logf("seed %d: %d buffers, first-fit %d, search %d, work %d", seed, len(bufs), quick(bufs), p.Height, p.Work)
		if p.Height != capacity {
			t.Errorf("seed %d: %d buffers in %d bytes, which fit into %d", seed, len(bufs), p.Height, capacity)
		}
		if quick(bufs) > capacity {
			above++
		}
	}
	if above < 10 {
		t.Errorf("first-fit solves all but %d problems: they are too easy", above)
	}
}

// Where buffers are in use one after the other, or all at once, the bound is met.
func TestEasy(t *testing.T) {
	for name, bufs := range map[string][]Buffer{
		"none":       nil,
		"in turn":    {{0, 2, 64}, {2, 4, 128}, {4, 10, 64}},
		"all":        {{0, 10, 64}, {3, 6, 128}, {5, 7, 64}},
		"at one end": {{0, 4, 64}, {3, 6, 64}},
		"a stack":    {{0, 10, 64}, {1, 9, 128}, {2, 8, 64}, {9, 10, 128}},
		"no bytes":   {{0, 10, 0}, {1, 9, 64}},
		"apart":      {{0, 1, 64}, {1000, 1001, 64}},
	} {
		p := Place(bufs, Options{})
		valid(t, bufs, p)
		if p.Height != p.Bound {
			t.Errorf("%s: %d bytes, %d are in use at once", name, p.Height, p.Bound)
		}
	}
}

// A goal above the bound ends the work when it is met; one below it changes
// nothing.
func TestGoal(t *testing.T) {
	bufs := cuttings(rand.New(rand.NewSource(1)), 60, 1000, 1<<20)
	full, low := Place(bufs, Options{}), Place(bufs, Options{Goal: 1})
	if !slices.Equal(full.Offsets, low.Offsets) {
		t.Error("a goal below the bound changes the plan")
	}
	easy := Place(bufs, Options{Goal: quick(bufs)})
	valid(t, bufs, easy)
	if easy.Work >= full.Work || easy.Height > quick(bufs) {
		t.Errorf("work %d for %d bytes; %d without a goal", easy.Work, easy.Height, full.Work)
	}
}

func TestBound(t *testing.T) {
	for seed := int64(1); seed <= 200; seed++ {
		r := rand.New(rand.NewSource(seed))
		bufs := program(r, r.Intn(12), 1+r.Intn(8))
		var most int64
		for at := range 40 {
			var live int64
			for _, b := range bufs {
				if b.Lo <= at && at < b.Hi {
					live += b.Size
				}
			}
			most = max(most, live)
		}
		if got := Bound(bufs); got != most {
			t.Fatalf("seed %d: %d, by trying every time %d", seed, got, most)
		}
	}
}

// The work is bounded whatever the input, and grows little more than its size
// where there are very many buffers.
func TestBoundedWork(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	random := make([]Buffer, 10000)
	for i := range random {
		lo := r.Intn(10000)
		random[i] = Buffer{lo, lo + 1 + r.Intn(10000-lo+1), unit * (1 + r.Int63n(1000))}
	}
	steps := make([]Buffer, 10000) // each meets the next alone
	for i := range steps {
		steps[i] = Buffer{i, i + 2, unit * (1 + r.Int63n(1000))}
	}
	for name, bufs := range map[string][]Buffer{
		"random":   random,
		"steps":    steps,
		"program":  program(r, 10000, 5000),
		"cuttings": cuttings(r, 10000, 1<<20, unit<<20),
		"giant":    program(r, many+1, 20000),
	} {
		const work = 1 << 22
		p := Place(bufs, Options{Work: work})
		if h := height(bufs, p.Offsets); h != p.Height || h < p.Bound {
			t.Errorf("%s: height %d, it is %d, and %d at least", name, p.Height, h, p.Bound)
		}
		n := int64(len(bufs))
		if limit := work + int64(len(orders))*n*n/2 + n; p.Work > limit {
			t.Errorf("%s: %d of work, at most %d", name, p.Work, limit)
		}
		if err := sweep(bufs, p.Offsets); err {
			t.Errorf("%s: buffers overlap", name)
		}
	}
}

// sweep finds overlaps among many buffers: those in use are kept by offset, and a
// new one is compared with its neighbours alone.
func sweep(bufs []Buffer, offsets []int64) bool {
	var live []int // by offset, apart
	find := func(id int) int {
		n, _ := slices.BinarySearchFunc(live, id, func(a, b int) int { return cmp.Compare(offsets[a], offsets[b]) })
		return n
	}
	for _, e := range events(bufs) {
		n := find(e.id)
		if e.end {
			live = slices.Delete(live, n, n+1)
			continue
		}
		if n > 0 && offsets[live[n-1]]+bufs[live[n-1]].Size > offsets[e.id] || n < len(live) && offsets[live[n]] < offsets[e.id]+bufs[e.id].Size {
			return true
		}
		live = slices.Insert(live, n, e.id)
	}
	return false
}

// TestFirstFitByTree: the tree finds the gaps that a look at everything finds.
func TestFirstFitByTree(t *testing.T) {
	for seed := range int64(30) {
		r := rand.New(rand.NewSource(seed))
		bufs := program(r, 20+r.Intn(400), 10+r.Intn(300))
		if seed%3 == 0 {
			bufs = cuttings(r, 100, 40, 1<<20)
		}
		bufs = slices.DeleteFunc(bufs, func(b Buffer) bool { return !usual([]Buffer{b}) })
		for range 3 {
			order := r.Perm(len(bufs))
			want, _ := firstFit(bufs, order)
			if got, _ := firstFitByTree(bufs, order); !slices.Equal(got, want) {
				t.Fatalf("seed %d: %v, not %v", seed, got, want)
			}
		}
	}
}
