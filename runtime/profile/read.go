package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxBytes is the most that a profile may have: each launch of each device is some 300 bytes.
const maxBytes = 256 << 20

// Read reads the JSON form of a Report. The file may be from anywhere: what it says is
// checked as far as it can be without the plan.
func Read(from io.Reader) (*Report, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("it has more than %d MiB", maxBytes>>20)
	}
	var x struct {
		Report
		Trace json.RawMessage `json:"traceEvents"`
	}
	if err := json.Unmarshal(text, &x); err != nil {
		return nil, fmt.Errorf("it is no JSON of a profile: %w", err)
	}
	switch {
	case x.Trace != nil:
		return nil, errors.New("it is a trace: ptc run --profile=FILE writes a profile")
	case x.Version != Version:
		return nil, fmt.Errorf("it is of version %d, and version %d of profiles is read", x.Version, Version)
	case x.Steps < 1 || len(x.Ranks) == 0:
		return nil, errors.New("it has no step that was profiled")
	}
	return &x.Report, x.Report.check()
}

// check holds that times and work are not negative, and that no rank is there twice.
func (p *Report) check() error {
	seen := map[int]bool{}
	bad := p.StepMs < 0 || p.ProfiledMs < 0
	for i := range p.Ranks {
		r := &p.Ranks[i]
		if r.Rank < 0 || seen[r.Rank] {
			return fmt.Errorf("rank %d is there twice, or is none", r.Rank)
		}
		seen[r.Rank] = true
		for _, v := range []float64{r.StepMs, r.KernelMs, r.CommMs, r.WaitMs, r.Ceilings.Flops, r.Ceilings.Dot, r.Ceilings.Bandwidth()} {
			bad = bad || v < 0
		}
		for _, k := range r.Kernels {
			bad = bad || k.Ms < 0 || k.Launches < 1 || k.Flops < 0 || k.Bytes < 0 || k.Share < 0 || k.GFlops < 0 || k.GBytes < 0 || k.Roofline < 0
		}
	}
	if bad {
		return errors.New("a time, or work, is negative")
	}
	return nil
}
