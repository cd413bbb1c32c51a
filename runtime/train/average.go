package train

import (
	"fmt"
	"math"
	"strings"

	"ptc/runtime/metrics"
	"ptc/runtime/program"
)

// windows are examples that are not trained on, and batches of them.
type windows struct {
	count int64
	// batch has in each row the window of the number that row has.
	batch func(number func(row int) int64) (*batch, error)
}

// scores are the averages of the loss and the metrics over windows.
type scores struct {
	loss    float64
	metrics []metrics.Figure
	windows int64
	weight  float64 // see totals
	note    string  // what is to be said of the loss
}

// noScores are those of no windows.
func noScores() *scores { return &scores{loss: math.NaN()} }

// event tells the scores after a step.
func (s *scores) event(step int64) *metrics.Validation {
	return &metrics.Validation{Step: step, Loss: s.loss, Metrics: s.metrics}
}

// totals are what the terms of averages sum up.
type totals struct {
	dev      *devices
	averages []program.Average
	of       [][]total // by average and term
}

type total struct{ sum, weight float64 }

func newTotals(d *devices, averages []program.Average) *totals {
	t := &totals{dev: d, averages: averages}
	for _, a := range averages {
		t.of = append(t.of, make([]total, len(a.Terms)))
	}
	return t
}

// add takes what the program eval has computed of a batch so many times, as so much of one
// batch. Without related, terms that relate the rows of a batch are left out.
func (t *totals) add(times, share float64, related bool) {
	for i, a := range t.averages {
		for j, term := range a.Terms {
			if term.Related != "" && !related {
				continue
			}
			x := &t.of[i][j]
			x.sum += times * t.dev.evaluated(a.Stat, term.Sum)
			switch {
			case term.Related != "":
				x.weight++
			case term.Weight == "":
				x.weight += share
			default:
				x.weight += times * t.dev.evaluated("", term.Weight)
			}
		}
	}
}

// weight is what the loss divides a term by, of all windows; 0 where it divides none, or
// several.
func (t *totals) weight() float64 {
	sum, terms := 0.0, 0
	for j, term := range t.averages[0].Terms {
		if term.Weight != "" {
			sum, terms = t.of[0][j].weight, terms+1
		}
	}
	if terms != 1 {
		return 0
	}
	return sum
}

// value is average number i.
func (t *totals) value(i int) float64 {
	sum := 0.0
	for j, term := range t.averages[i].Terms {
		x := t.of[i][j]
		switch {
		case term.Weight == "":
			sum += x.sum / x.weight
		case term.Zero && x.weight == 0:
		default:
			sum += x.sum / (max(x.weight, term.Floor) + term.Plus)
		}
	}
	return sum
}

// evaluated is a number of the last batch that the program eval has computed: a part of a
// scalar, or where that is empty the scalar itself, or where that is too the loss.
func (d *devices) evaluated(scalar, part string) float64 {
	for _, name := range []string{part, scalar} {
		if name != "" {
			v, _ := d.testing.Stat(name)
			return v
		}
	}
	return d.testing.Loss()
}

// averagesOf are those of a plan. An earlier version did not say what its loss is.
func averagesOf(plan *program.Plan) []program.Average {
	if len(plan.Data.Averages) > 0 {
		return plan.Data.Averages
	}
	return []program.Average{{Rows: 1, Terms: []program.AverageTerm{{Related: unknownPlace}}}}
}

const unknownPlace = "?"

// averager goes through windows, a batch at a time.
type averager struct {
	dev      *devices
	averages []program.Average
	size     int64 // windows in a batch
	fewer    bool  // a batch that is not full may have windows twice where all rows are related
	// stopped is asked before each batch.
	stopped func() (bool, error)
}

// group is how many consecutive windows stay together.
func (v *averager) group() int64 {
	n := int64(1)
	for _, a := range v.averages {
		if r := int64(a.Rows); n%r != 0 {
			n *= r
		}
	}
	if v.size%n != 0 { // no plan of ours has this
		return v.size
	}
	return n
}

// average is the average over all windows; nil where it was stopped. The last r of them
// need not fill a batch of B. What is missing are copies of the last window, of which the
// sums are known from a batch of nothing else:
//
//	Σ(w₁ … wᵣ) = Σ(w₁ … wᵣ, wᵣ, …, wᵣ) − (B−r)/B · Σ(wᵣ, …, wᵣ)
func (v *averager) average(src *windows) (*scores, error) {
	t, g := newTotals(v.dev, v.averages), v.group()
	full := src.count / v.size * v.size
	for first := int64(0); first < full; first += v.size {
		if done, err := v.batch(src, func(row int) int64 { return first + int64(row) }); !done || err != nil {
			return nil, err
		}
		t.add(1, 1, true)
	}
	rest := (src.count - full) / g * g
	if rest > 0 {
		last := full + rest - g
		if done, err := v.batch(src, func(row int) int64 {
			if int64(row) < rest {
				return full + int64(row)
			}
			return last + int64(row)%g
		}); !done || err != nil {
			return nil, err
		}
		alone := full == 0 && v.fewer
		t.add(1, float64(rest)/float64(v.size), alone)
		if done, err := v.batch(src, func(row int) int64 { return last + int64(row)%g }); !done || err != nil {
			return nil, err
		}
		t.add(-float64(v.size-rest)/float64(v.size), 0, false)
	}
	return v.scores(t, src.count, full, rest), nil
}

// batch evaluates a batch; done is false where that was stopped before.
func (v *averager) batch(src *windows, number func(row int) int64) (done bool, err error) {
	if stop, err := v.stopped(); stop || err != nil {
		return false, err
	}
	b, err := src.batch(number)
	if err != nil {
		return false, err
	}
	_, err = v.dev.eval(b)
	return err == nil, err
}

// scores are the values of totals, of so many windows of which some fill batches.
func (v *averager) scores(t *totals, count, full, rest int64) *scores {
	s := &scores{loss: t.value(0), windows: full + rest}
	for i, a := range v.averages[1:] {
		s.metrics = append(s.metrics, metrics.Figure{Name: a.Name, Value: t.value(i + 1)})
	}
	s.weight = t.weight()
	var notes []string
	for _, a := range v.averages {
		if why := meanOfMeans(&a); why != "" {
			left := ""
			if n := count - full; n > 0 && full > 0 {
				left = fmt.Sprintf(", and %d windows that do not fill a batch do not count", n)
			}
			notes = append(notes, why+left)
		}
	}
	if n := count - full - rest; n > 0 {
		notes = append(notes, fmt.Sprintf("ptc leaves out the last %d windows, because their group is not complete", n))
	}
	s.note = strings.Join(notes, "; ")
	return s
}

// meanOfMeans says of an average that it is none of windows; empty where it is.
func meanOfMeans(a *program.Average) string {
	what, number := "the loss", "its number"
	if a.Name != "" {
		what = "the metric " + a.Name
	}
	terms := 0
	place := ""
	for _, t := range a.Terms {
		if t.Related != "" {
			terms, place = terms+1, t.Related
		}
	}
	switch {
	case terms == 0:
		return ""
	case place == unknownPlace:
		return "an earlier ptc made the plan and does not say how its loss is averaged: its number is a mean of batch means; compile it again"
	case terms < len(a.Terms):
		what, number = "a term of "+what, "it counts as"
		return fmt.Sprintf("%s is no quotient of sums over windows, because of %s: %s a mean of batch means, which depends on the batch", what, place, number)
	}
	return fmt.Sprintf("%s is no quotient of sums over windows, because of %s: %s is a mean of batch means, which depends on the batch", what, place, number)
}

// metricNames are those of a plan's metrics.
func metricNames(plan *program.Plan) (names []string) {
	for _, a := range plan.Data.Averages {
		if a.Name != "" {
			names = append(names, a.Name)
		}
	}
	return names
}
