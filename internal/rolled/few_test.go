package rolled

import (
	"fmt"
	"math/rand"
	"testing"
)

// TestPairs: claim (2) of the theorem, by trying all pairs.
func TestPairs(t *testing.T) {
	for period := 1; period <= 4; period++ {
		for near := 0; near <= 4; near++ {
			for count := 1; count <= 60; count++ {
				few, far := Few(count, period, near/2, near-near/2), near+2
				if few > count || few < count && (count-few)%period != 0 {
					t.Fatalf("%d of %d with period %d", few, count, period)
				}
				pairs := func(count int) map[[5]int]bool {
					out := map[[5]int]bool{}
					for n := range count {
						for m := n; m < count; m++ {
							out[[5]int{n % period, m % period, min(n, 1), min(count-1-m, 1), min(m-n, far+1)}] = true
						}
					}
					return out
				}
				if all, some := pairs(count), pairs(few); fmt.Sprint(all) != fmt.Sprint(some) {
					t.Fatalf("%d instances for %d, period %d, near %d: %v, not %v", few, count, period, near, some, all)
				}
			}
		}
	}
}

// TestIterations: claim (1), by writing out random runs.
func TestIterations(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 500 {
		ahead := make([]int, 1+r.Intn(4))
		for i := range ahead {
			ahead[i] = r.Intn(5) - 2
		}
		least, most := Aheads(len(ahead), func(i int) int { return ahead[i] })
		count, period := 1+r.Intn(60), 1+r.Intn(4)
		iterations := func(count int) map[string]bool {
			iteration := map[int]string{}
			for i, n := range (Way{Count: count}).Order(len(ahead), func(i int) int { return ahead[i] }) {
				iteration[n-ahead[i]] += fmt.Sprint(i, " ", n%period, "; ")
			}
			out := map[string]bool{}
			for k := -most - 1; k < count-least; k++ {
				out[iteration[k]+"then "+iteration[k+1]] = true
			}
			return out
		}
		few := Few(count, period, most-least, r.Intn(3))
		if all, some := iterations(count), iterations(few); fmt.Sprint(all) != fmt.Sprint(some) {
			t.Fatalf("%d instances for %d, period %d, ahead %v: %v, not %v", few, count, period, ahead, some, all)
		}
	}
}

// family is a value of each instance, in a place of two bytes.
type family struct {
	Place
	row bool
}

// random is a run whose operations, of which some wait, write one value and read another one, in places as
// the theorem wants them: rows of one step first, then rings and what is there once.
type random struct {
	ahead, waits []int
	values       [][2]int // written and read
	places       []family
	period       int
	reach        int
}

func randomRun(r *rand.Rand) *random {
	x := &random{period: 1}
	step := int64(2 * (1 + r.Intn(3)))
	for range 3 {
		x.places = append(x.places, family{Place{r.Int63n(3 * step), Spread{Step: step}}, true})
	}
	x.reach = 4
	for range 3 {
		ring := 1 + r.Intn(3)
		x.places = append(x.places, family{Place{1 << 20, Spread{Step: int64(r.Intn(2) * 2), Ring: ring}}, false})
		x.period = Common(x.period, ring, 1<<10)
	}
	for range 2 + r.Intn(4) {
		x.ahead, x.waits = append(x.ahead, r.Intn(4)-1), append(x.waits, r.Intn(2))
		x.values = append(x.values, [2]int{r.Intn(len(x.places)), r.Intn(len(x.places))})
	}
	x.waits[r.Intn(len(x.waits))] = 1
	return x
}

// races is whether an operation of the run of count instances uses bytes of one that it does not wait for.
func (x *random) races(count int) bool {
	type access struct {
		op, n, since int
		write, read  int64
	}
	var all []access
	waits := 0
	at := func(v, n int) int64 {
		p := x.places[v]
		if p.row {
			p.Ring = count
		}
		return p.Of(n, 0)
	}
	meet := func(a, b int64) bool { return a < b+2 && b < a+2 }
	for i, n := range (Way{Count: count}).Order(len(x.ahead), func(i int) int { return x.ahead[i] }) {
		waits += x.waits[i]
		a := access{i, n, waits, at(x.values[i][0], n), at(x.values[i][1], n)}
		for _, b := range all {
			if b.since == waits && (meet(a.write, b.write) || meet(a.write, b.read) || meet(a.read, b.write)) {
				return true
			}
		}
		all = append(all, a)
	}
	return false
}

// TestFewStandForAll: a proof about few instances says the same as one about all of them.
func TestFewStandForAll(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	fewer, race := 0, 0
	for range 3000 {
		x := randomRun(r)
		count := 1 + r.Intn(40)
		least, most := Aheads(len(x.ahead), func(i int) int { return x.ahead[i] })
		few := Few(count, x.period, most-least, x.reach)
		all := x.races(count)
		if x.races(few) != all {
			t.Fatalf("%d instances for %d of %+v: %v", few, count, x, all)
		}
		if few < count {
			if fewer++; all {
				race++
			}
		}
	}
	if fewer < 500 || race < 100 || fewer-race < 100 {
		t.Errorf("%d runs with fewer instances, %d of them with a race", fewer, race)
	}
}

// TestFollows: what holds of a few instances holds of all.
func TestFollows(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	follow := 0
	for range 20000 {
		w := Way{1 + r.Intn(20), r.Intn(2) == 0}
		place := func() Place {
			return Place{int64(r.Intn(3)), Spread{Step: int64(r.Intn(3) - 1), Ring: []int{0, 1, 2, 3, w.Count}[r.Intn(5)]}}
		}
		in, out := place(), place()
		want := true
		for n := 1; n < w.Count; n++ {
			want = want && in.Of(w.Number(n), 0) == out.Of(w.Number(n-1), 0)
		}
		if _, ok := w.Follows(in, out, 0); ok != want {
			t.Fatalf("%+v: %+v behind %+v: %v", w, in, out, ok)
		}
		if want && w.Count > 6 {
			follow++
		}
	}
	if follow < 100 {
		t.Errorf("%d follow", follow)
	}
}
