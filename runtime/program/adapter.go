package program

import (
	"strings"

	"ptc/internal/openpath"
)

// Adapter says of parameters, by patterns of their paths, that PATH stands for
// PATH + Scale · PATH.lora_down · PATH.lora_up, where the last two are parameters too.
type Adapter struct {
	On    []string `cbor:"1,keyasint,omitempty"`
	Scale float64  `cbor:"2,keyasint,omitempty"`
}

// AdapterDown and AdapterUp are what the paths of an adapter's parts have behind that of
// their parameter.
const (
	AdapterDown = ".lora_down"
	AdapterUp   = ".lora_up"
)

// IsAdapter is whether a parameter is a part of an adapter.
func (p *Plan) IsAdapter(path string) bool {
	base, part := strings.CutSuffix(path, AdapterDown)
	if !part {
		base, part = strings.CutSuffix(path, AdapterUp)
	}
	return part && p.AdapterOf(base) != nil
}

// AdapterOf is the rule for the adapter of a parameter; nil where it has none.
func (p *Plan) AdapterOf(path string) *Adapter {
	parts := strings.Split(path, ".")
	for i := range p.Adapters {
		for _, on := range p.Adapters[i].On {
			if openpath.Match(strings.Split(on, "."), parts) {
				return &p.Adapters[i]
			}
		}
	}
	return nil
}
