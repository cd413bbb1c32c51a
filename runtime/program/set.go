package program

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Setting is what a port of RoleSetting is fed: the formula, of the plan's settings, in the
// dtype of its buffer.
func (p *Plan) Setting(port *Port, d string) (float64, error) {
	return portValuesOf(p.Settings).port(port.Path, d)
}

// Ports are the names of the settings that a run may set, in the order of the config.
func (p *Plan) Ports() []string {
	var out []string
	for _, s := range p.Settings {
		if s.Is == "" {
			out = append(out, s.Name)
		}
	}
	return out
}

// Set is the plan with other values of settings, in the config as well: all else of it is
// shared. The error says what cannot be set, or of what values the plan is not.
func (p *Plan) Set(values map[string]float64) (*Plan, error) {
	if len(values) == 0 {
		return p, nil
	}
	q := *p
	q.Settings, q.Config = slices.Clone(p.Settings), slices.Clone(p.Config)
	left := len(values)
	for i := range q.Settings {
		s := &q.Settings[i]
		v, ok := values[s.Name]
		if !ok || s.Is != "" {
			continue
		}
		left--
		if err := s.check(v); err != nil {
			return nil, err
		}
		s.Value = v
	}
	if left > 0 {
		return nil, noSetting(values, p.Ports())
	}
	have := portValuesOf(q.Settings)
	for i := range q.Settings {
		if s := &q.Settings[i]; s.Is != "" {
			f, err := have.formula(s.Is)
			if err != nil {
				return nil, err
			}
			if s.Value = f.Eval(have.of); s.check(s.Value) != nil {
				return nil, s.check(s.Value)
			}
		}
	}
	for i, kv := range q.Config {
		for _, s := range q.Settings {
			if s.Name == kv.Key {
				q.Config[i].Value = s.text()
			}
		}
	}
	if err := checkSettings(q.Settings, q.Guards, q.Devices); err != nil {
		return nil, err
	}
	return &q, nil
}

// checkSettings checks guards and what ports are fed.
func checkSettings(settings []Setting, guards []Guard, devices []Device) error {
	err, have := validateSettings(settings, guards), portValuesOf(settings)
	var g *GuardError
	if errors.As(err, &g) {
		f, _ := have.formula(g.Text)
		for _, n := range f.Names() {
			g.Values = append(g.Values, n+"="+strconv.FormatFloat(have[n], 'g', -1, 64))
		}
	}
	if err != nil {
		return err
	}
	for i := range devices {
		d := &devices[i]
		for j := range d.Ports {
			if x := &d.Ports[j]; x.Role == RoleSetting {
				if _, err := have.port(x.Path, d.Buffers[x.Buffer].DType); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// noSetting says which names are no settings that a run may set, and which there are.
func noSetting(values map[string]float64, ports []string) error {
	var none []string
	for n := range values {
		if !slices.Contains(ports, n) {
			none = append(none, n)
		}
	}
	slices.Sort(none)
	have := "it has no ports: compile it with --port NAME"
	if len(ports) > 0 {
		have = "its ports are " + strings.Join(ports, ", ")
	}
	return fmt.Errorf("%s is no port of the plan; %s", strings.Join(none, ", "), have)
}
