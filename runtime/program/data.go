package program

import (
	"fmt"
	"math"
	"slices"
)

// Data describes where batches come from.
type Data struct {
	Kind    string `cbor:"1,keyasint,omitempty"` // text, synthetic; empty where the model takes no data
	Options []KV   `cbor:"2,keyasint,omitempty"` // a key may repeat; the empty key is the positional argument
	Steps   int64  `cbor:"3,keyasint,omitempty"` // how long training is meant to be, from the source; 0 if it does not say
	// EvalEvery is the number of steps between validations; 0: only at the end.
	EvalEvery int64 `cbor:"4,keyasint,omitempty"`
	// Averages says how validation averages the loss and the metrics over batches: the loss
	// first. A plan of an earlier version has none.
	Averages []Average `cbor:"5,keyasint,omitempty"`
	// Epochs is how often training is meant to go through the data, where Steps is 0.
	Epochs int64 `cbor:"6,keyasint,omitempty"`
	Stop   *Stop `cbor:"7,keyasint,omitempty"` // nil: after the last step
}

// Stop says that training ends after Patience validations in a row in which nothing was
// better, by more than Least, than the best so far.
type Stop struct {
	On       string  `cbor:"1,keyasint,omitempty"` // the metric; empty for the loss
	Most     bool    `cbor:"2,keyasint,omitempty"` // more is better
	Patience int64   `cbor:"3,keyasint,omitempty"`
	Least    float64 `cbor:"4,keyasint,omitempty"`
}

// Average says how a scalar of the program eval is averaged over batches: as a sum of
// quotients of what its terms sum up.
type Average struct {
	Name string `cbor:"1,keyasint,omitempty"` // of the metric; empty for the loss
	// Stat is the statistic that is the scalar of one batch, in the program step as well;
	// empty for the loss.
	Stat string `cbor:"2,keyasint,omitempty"`
	// Rows is how many consecutive rows of a batch belong together: 2 for pairs.
	Rows  int           `cbor:"3,keyasint,omitempty"`
	Terms []AverageTerm `cbor:"4,keyasint,omitempty"`
}

// AverageTerm is, of totals Σ over batches,
//
//	Σ Sum / (max(Σ Weight, Floor) + Plus)
type AverageTerm struct {
	Sum    string  `cbor:"1,keyasint,omitempty"` // a statistic; empty: the scalar itself
	Weight string  `cbor:"2,keyasint,omitempty"` // a statistic; empty: 1 of each batch
	Floor  float64 `cbor:"3,keyasint,omitempty"`
	Plus   float64 `cbor:"4,keyasint,omitempty"`
	Zero   bool    `cbor:"5,keyasint,omitempty"` // 0 where the weights are 0
	// Related is the place in the source of an operation that relates the rows of a batch,
	// so that the term is a mean over batches, not over rows; empty where it is one of rows.
	Related string `cbor:"6,keyasint,omitempty"`
}

// validate checks that the program eval has what is averaged.
func (x *Data) validate(devices []Device) error {
	list := x.Averages
	if err := counts(map[string]int{"averages": len(list)}); err != nil {
		return err
	}
	stats := map[string]bool{}
	for i := range devices {
		for _, x := range devices[i].Ports {
			if x.Program == "eval" && x.Role == RoleStat {
				stats[x.Path] = true
			}
		}
	}
	for i := range list {
		a := &list[i]
		if (i == 0) != (a.Name == "") || (a.Name == "") != (a.Stat == "") || slices.ContainsFunc(list[:i], func(b Average) bool { return b.Name == a.Name }) {
			return fmt.Errorf("average %d is of %q, by statistic %q", i, a.Name, a.Stat)
		}
		if a.Rows < 1 || len(a.Terms) == 0 {
			return fmt.Errorf("the average of %q has %d terms, of %d rows", a.Name, len(a.Terms), a.Rows)
		}
		names := []string{a.Stat}
		for _, t := range a.Terms {
			names = append(names, t.Sum, t.Weight)
			for _, x := range []float64{t.Floor, t.Plus} {
				if !(x >= 0) || math.IsInf(x, 0) {
					return fmt.Errorf("the average of %q has a weight of at least %g", a.Name, x)
				}
			}
		}
		for _, n := range names {
			if n != "" && !stats[n] {
				return fmt.Errorf("the average of %q needs the statistic %q, which the program eval lacks", a.Name, n)
			}
		}
	}
	return x.validateStop()
}

// validateStop checks that what ends training early is averaged.
func (x *Data) validateStop() error {
	if x.Epochs < 0 {
		return fmt.Errorf("training of %d epochs", x.Epochs)
	}
	s := x.Stop
	if s == nil {
		return nil
	}
	if s.Patience < 1 || !(s.Least >= 0) || math.IsInf(s.Least, 0) {
		return fmt.Errorf("training ends after %d validations that are not better by %g", s.Patience, s.Least)
	}
	if s.On != "" && !slices.ContainsFunc(x.Averages, func(a Average) bool { return a.Name == s.On }) {
		return fmt.Errorf("training ends by the metric %q, which there is not", s.On)
	}
	return nil
}
