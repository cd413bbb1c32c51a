package remat

import (
	"math/rand"
	"testing"
)

// randomRegion has a few nodes that read one another.
func randomRegion(r *rand.Rand, stage int) *region {
	g := &region{stage: stage, fixed: int64(r.Intn(3))}
	for i := range 2 + r.Intn(5) {
		n := node{bytes: int64(r.Intn(12)), flops: 1 + int64(r.Intn(20)), needed: r.Intn(2) == 0}
		if r.Intn(3) > 0 {
			n.work = n.bytes
		}
		switch r.Intn(8) {
		case 0:
			n.must = keep
		case 1:
			n.must = again
		}
		if i == 0 {
			n.must = keep
		}
		for j := range i {
			if r.Intn(3) == 0 {
				n.from = append(n.from, j)
			}
		}
		g.nodes = append(g.nodes, n)
	}
	return g
}

// every option of a region: all ways to decide on each node, and what each
// costs, from the definition.
func everyOption(g *region) (out []option) {
	for bits := range 1 << len(g.nodes) {
		o, ok := option{keep: g.fixed, work: g.fixed}, true
		wanted := make([]bool, len(g.nodes))
		for i := len(g.nodes) - 1; i >= 0; i-- {
			n, redo := g.nodes[i], bits>>i&1 == 1
			if !wanted[i] && !n.needed {
				continue
			}
			ok = ok && !(redo && n.must == keep) && !(!redo && n.must == again)
			if !redo {
				o.keep += n.bytes
				o.work += n.bytes
				continue
			}
			o.work += n.work
			o.flops += n.flops
			for _, j := range n.from {
				wanted[j] = true
			}
		}
		if ok {
			out = append(out, o)
		}
	}
	return out
}

// brute goes through all choices of all regions.
func brute(d *device, stages []int, all [][]option, budget int64) (flops, least int64, ok bool) {
	flops, least = -1, -1
	var walk func(i int, chosen []option)
	walk = func(i int, chosen []option) {
		if i < len(all) {
			for _, o := range all[i] {
				walk(i+1, append(chosen[:i:i], o))
			}
			return
		}
		var sum, peak, redone, work int64
		for k, o := range chosen {
			fl := d.flight[stages[k]]
			work += o.flops
			if d.one() {
				peak = max(peak, sum+o.work)
			}
			redone = max(redone, o.work-o.keep)
			sum += fl.kept*o.keep + fl.pending*(o.work-o.keep)
		}
		if !d.one() {
			peak = sum + redone
		}
		if least < 0 || peak < least {
			least = peak
		}
		if peak <= budget && (!ok || work < flops) {
			flops, ok = work, true
		}
	}
	walk(0, nil)
	return flops, least, ok
}

// TestBruteForce compares the choice with the best of all choices.
func TestBruteForce(t *testing.T) {
	fits := 0
	for seed := range 600 {
		r := rand.New(rand.NewSource(int64(seed)))
		d := &device{flight: map[int]inFlight{0: {kept: 1}}, effort: exactly}
		if seed%3 == 1 {
			d.flight[0] = inFlight{kept: 1 + int64(r.Intn(4)), pending: int64(r.Intn(2))}
		}
		var all [][]option
		var stages []int
		var regions []*region
		var fronts []front
		for range 1 + r.Intn(3) {
			g := randomRegion(r, 0)
			if seed%6 == 4 && r.Intn(2) == 0 {
				g.stage = 1
				d.flight[1] = inFlight{kept: 2}
			}
			f := frontOf(g)
			if f.slack != 0 {
				t.Fatalf("seed %d: a small front has slack", seed)
			}
			regions, fronts = append(regions, g), append(fronts, f)
			all, stages = append(all, thin(everyOption(g), 0)), append(stages, g.stage)
		}
		d.units = unitsOf(regions, fronts)
		d.join()
		budget := int64(r.Intn(80))
		want, least, ok := brute(d, stages, all, budget)
		got, found := d.choose(budget)
		if found != ok || ok && got.flops != want {
			t.Errorf("seed %d: budget %d: %d flops, %v; the best of all choices has %d, %v", seed, budget, got.flops, found, want, ok)
		}
		if found && (got.bound != got.flops || got.peak > budget) {
			t.Errorf("seed %d: %d flops, bound %d, %d bytes of %d", seed, got.flops, got.bound, got.peak, budget)
		}
		if p := d.least(); p.peak != least {
			t.Errorf("seed %d: at least %d bytes, of all choices %d", seed, p.peak, least)
		}
		if ok {
			fits++
		}
	}
	if fits < 200 || fits > 590 {
		t.Errorf("%d of 600 budgets are large enough: the cases say little", fits)
	}
}

// TestFront compares the front of a region with that of all ways to decide, in
// which options are compared one by one.
func TestFront(t *testing.T) {
	for seed := range 400 {
		g := randomRegion(rand.New(rand.NewSource(int64(seed))), 0)
		got := frontOf(g).options
		for _, x := range everyOption(g) {
			better := false
			for _, y := range got {
				better = better || y.keep <= x.keep && y.work <= x.work && y.flops <= x.flops
			}
			if !better {
				t.Fatalf("seed %d: %+v is missing", seed, x)
			}
		}
		for i, x := range got {
			for j, y := range got {
				if i != j && y.keep <= x.keep && y.work <= x.work && y.flops <= x.flops {
					t.Fatalf("seed %d: %+v is no better than %+v", seed, x, y)
				}
			}
		}
	}
}

// TestBounded: with few states side by side the choice may be worse, and the
// bound is still below the best.
func TestBounded(t *testing.T) {
	open := 0
	for seed := range 200 {
		r := rand.New(rand.NewSource(int64(seed)))
		var lists [][]item
		for range 8 {
			var list []item
			for k := range 6 {
				list = append(list, item{load: int64(k*1000 + r.Intn(900)), flops: int64((6-k)*1000 + r.Intn(900)), pick: k})
				list[k].top = list[k].load + int64(r.Intn(500))
			}
			lists = append(lists, list)
		}
		budget := int64(8000 + r.Intn(30000))
		best, ok := pack(lists, budget, effort{states: []int{1 << 16}, gap: 1e-4})
		few, found := pack(lists, budget, effort{states: []int{4}, gap: 1e-4})
		if ok != found || ok && (few.flops < best.flops || few.bound > best.flops || best.bound != best.flops && float64(best.flops-best.bound) > exactly.gap*float64(best.flops)) {
			t.Errorf("seed %d: %d flops, bound %d; best %d, bound %d", seed, few.flops, few.bound, best.flops, best.bound)
		}
		if few.bound < few.flops {
			open++
		}
	}
	if open == 0 {
		t.Error("no case was cut short")
	}
}
