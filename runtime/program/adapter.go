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

// Adapters are rules, of which the first that holds counts.
type Adapters []Adapter

// AdapterDown and AdapterUp are what the paths of an adapter's parts have behind that of
// their parameter.
const (
	AdapterDown = ".lora_down"
	AdapterUp   = ".lora_up"
)

// Has reports whether a parameter is a part of an adapter.
func (a Adapters) Has(path string) bool {
	base, part := strings.CutSuffix(path, AdapterDown)
	if !part {
		base, part = strings.CutSuffix(path, AdapterUp)
	}
	return part && a.Of(base) != nil
}

// Of is the rule for the adapter of a parameter; nil where it has none.
func (a Adapters) Of(path string) *Adapter {
	parts := strings.Split(path, ".")
	for i := range a {
		for _, on := range a[i].On {
			if openpath.Match(strings.Split(on, "."), parts) {
				return &a[i]
			}
		}
	}
	return nil
}
