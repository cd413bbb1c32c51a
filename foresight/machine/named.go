package machine

import (
	"embed"
	"strings"
	"sync"

	"ptc/internal/diag"
)

//go:embed machines/*.ptm
var machines embed.FS

// Names are those of the machines that come with ptc, sorted.
func Names() []string {
	entries, err := machines.ReadDir("machines")
	if err != nil {
		panic(err) // embedded
	}
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), Extension))
	}
	return out
}

// Source is the text of the file of a machine that comes with ptc.
func Source(name string) (string, error) {
	text, err := machines.ReadFile("machines/" + name + Extension)
	if err != nil {
		return "", misfit(diag.OneOf(Names())+", or a .ptm file", diag.DidYouMean(name, Names()), "there is no machine `%s`", name)
	}
	return string(text), nil
}

// loaded are machines that were loaded, by name.
var loaded sync.Map

// Named loads a machine that comes with ptc.
func Named(name string) (*Machine, error) {
	if m, ok := loaded.Load(name); ok {
		return m.(*Machine), nil
	}
	text, err := Source(name)
	if err != nil {
		return nil, err
	}
	m, errs := Load(name+Extension, []byte(text))
	if len(errs) > 0 {
		return nil, errs
	}
	loaded.Store(name, m)
	return m, nil
}
