package checkpoint

import "fmt"

// Phase is a number of steps in which a run was fed the same data in batches of one size.
type Phase struct {
	First    int64    `json:"first_step"`
	Batch    int64    `json:"batch"`            // examples in a step
	Examples int64    `json:"examples"`         // of all of its steps up to the checkpoint's
	Data     string   `json:"data_fingerprint"` // of the data
	Order    uint64   `json:"order_seed"`       // of the order of a mixture
	Sources  []Source `json:"sources,omitempty"`
}

// Source is one source of the data of a phase: the only one, or one of a mixture.
type Source struct {
	Kind     string            `json:"kind"`
	Data     string            `json:"data_fingerprint"`
	Seed     uint64            `json:"order_seed"`      // of the order of its examples
	Share    int64             `json:"share,omitempty"` // of 10,000 examples of a mixture
	Examples int64             `json:"examples"`        // that it gave in the phase
	Facts    map[string]string `json:"facts,omitempty"` // what its fingerprint is of
}

// maxExamples bounds the examples of a run, so that sums of them are numbers.
const maxExamples = 1 << 60

// checkPhases holds the phases of a manifest to its step: each begins behind the one before,
// and has as many examples as its steps.
func (m *manifest) checkPhases() error {
	if len(m.Phases) > 0 && m.Format < formatPhases {
		return fmt.Errorf("%s has format %d, and what only format %d has", manifestName, m.Format, formatPhases)
	}
	first, all := int64(1), int64(0)
	for i, p := range m.Phases {
		end := m.Step
		if i+1 < len(m.Phases) {
			end = m.Phases[i+1].First - 1
		}
		steps := end - p.First + 1
		if p.First != first || steps < 1 || p.Batch < 1 || p.Batch > maxExamples/steps || p.Examples != steps*p.Batch || p.Examples > maxExamples-all {
			return fmt.Errorf("%s has a phase of %d examples from step %d on, in batches of %d, which does not go with step %d", manifestName, p.Examples, p.First, p.Batch, end)
		}
		first, all = end+1, all+p.Examples
		given := int64(0)
		for _, s := range p.Sources {
			if s.Examples < 0 || s.Examples > p.Examples-given {
				return fmt.Errorf("%s has a source with %d of %d examples", manifestName, s.Examples, p.Examples)
			}
			given += s.Examples
		}
		if len(p.Sources) > 0 && given != p.Examples {
			return fmt.Errorf("%s has sources with %d of %d examples", manifestName, given, p.Examples)
		}
	}
	return nil
}
