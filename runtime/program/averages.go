package program

import (
	"fmt"
	"math"
	"slices"
)

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

// validateAverages checks that the program eval has what is averaged.
func (p *Plan) validateAverages() error {
	list := p.Data.Averages
	if err := counts(map[string]int{"averages": len(list)}); err != nil {
		return err
	}
	stats := map[string]bool{}
	for i := range p.Devices {
		for _, x := range p.Devices[i].Ports {
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
	return p.validateStop()
}

// validateStop checks that what ends training early is averaged.
func (p *Plan) validateStop() error {
	if p.Data.Epochs < 0 {
		return fmt.Errorf("training of %d epochs", p.Data.Epochs)
	}
	s := p.Data.Stop
	if s == nil {
		return nil
	}
	if s.Patience < 1 || !(s.Least >= 0) || math.IsInf(s.Least, 0) {
		return fmt.Errorf("training ends after %d validations that are not better by %g", s.Patience, s.Least)
	}
	if s.On != "" && !slices.ContainsFunc(p.Data.Averages, func(a Average) bool { return a.Name == s.On }) {
		return fmt.Errorf("training ends by the metric %q, which there is not", s.On)
	}
	return nil
}
