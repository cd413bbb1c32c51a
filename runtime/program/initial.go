package program

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// KV is one named value.
type KV struct {
	Key   string `cbor:"1,keyasint,omitempty"`
	Value string `cbor:"2,keyasint,omitempty"`
}

// Init says how a tensor starts: its kind with its numbers, as strconv writes
// them. Values depend on the run's seed, the path and the global element index
// alone.
//
//	zeros, ones
//	constant  value
//	normal    mean (0), std (1)
//	uniform   low (-1), high (1)
type Init struct {
	Kind string `cbor:"1,keyasint,omitempty"`
	Args []KV   `cbor:"2,keyasint,omitempty"`
}

func (x *Init) equal(y *Init) bool { return x.Kind == y.Kind && slices.Equal(x.Args, y.Args) }

// Dist is how the values of a tensor are distributed at the start.
type Dist uint8

// The distributions.
const (
	Constant Dist = iota // Value
	Normal               // Mean, Std
	Uniform              // Low, High
)

// Values is an [Init] in numbers.
type Values struct {
	Dist      Dist
	Value     float64
	Mean, Std float64
	Low, High float64
}

// Values reads the kind and the numbers, and says what is wrong with them.
func (x *Init) Values() (Values, error) {
	v := Values{Std: 1, Low: -1, High: 1}
	known := map[string]*float64{}
	switch x.Kind {
	case "zeros":
	case "ones":
		v.Value = 1
	case "constant":
		v.Value = math.NaN() // must be given
		known["value"] = &v.Value
	case "normal":
		v.Dist = Normal
		known["mean"], known["std"] = &v.Mean, &v.Std
	case "uniform":
		v.Dist = Uniform
		known["low"], known["high"] = &v.Low, &v.High
	default:
		return v, fmt.Errorf("unknown initial values %q", x.Kind)
	}
	for _, a := range x.Args {
		dst, ok := known[a.Key]
		if !ok {
			return v, fmt.Errorf("initial values %s have no argument %q", x.Kind, a.Key)
		}
		f, err := strconv.ParseFloat(a.Value, 64)
		if err != nil || math.IsNaN(f) {
			return v, fmt.Errorf("initial values %s: %s is %q, not a number", x.Kind, a.Key, a.Value)
		}
		*dst = f
	}
	switch {
	case math.IsNaN(v.Value):
		return v, fmt.Errorf("initial values %s without a value", x.Kind)
	case v.Dist == Normal && (v.Std < 0 || math.IsInf(v.Std, 0) || math.IsInf(v.Mean, 0)):
		return v, fmt.Errorf("normal initial values of mean %v and deviation %v", v.Mean, v.Std)
	case v.Dist == Uniform && (math.IsInf(v.High-v.Low, 0) || v.Low > v.High):
		return v, fmt.Errorf("uniform initial values from %v to %v", v.Low, v.High)
	}
	return v, nil
}
