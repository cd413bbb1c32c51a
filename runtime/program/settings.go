package program

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ptc/internal/dtype"
	"ptc/internal/formula"
)

// maxSettings bounds settings and guards.
const maxSettings = 4096

// validateSettings checks the settings, and that the guards hold of them.
func (p *Plan) validateSettings() error {
	if len(p.Settings) > maxSettings || len(p.Guards) > maxSettings {
		return fmt.Errorf("%d settings and %d guards", len(p.Settings), len(p.Guards))
	}
	have, seen := p.portValues(), map[string]bool{}
	for i, s := range p.Settings {
		if err := name(s.Name); err != nil {
			return fmt.Errorf("setting %d: %w", i, err)
		}
		if seen[s.Name] {
			return fmt.Errorf("two settings %q", s.Name)
		}
		seen[s.Name] = true
		if err := s.check(s.Value); err != nil {
			return fmt.Errorf("the setting %w", err)
		}
		if s.Is == "" {
			continue
		}
		f, err := have.formula(s.Is)
		if err != nil {
			return fmt.Errorf("the setting %s: %w", s.Name, err)
		}
		if v := f.Eval(have.of); v != s.Value {
			return fmt.Errorf("the setting %s is %v, and %s is %v", s.Name, s.Value, s.Is, v)
		}
	}
	for _, g := range p.Guards {
		f, err := have.formula(g.Text)
		if err != nil {
			return err
		}
		if (f.Eval(have.of) != 0) != g.Holds {
			return &GuardError{Guard: g}
		}
	}
	return nil
}

// check is what values a setting may have.
func (s *Setting) check(v float64) error {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return fmt.Errorf("%s is not finite", s.Name)
	case s.Whole && v != math.Trunc(v):
		return fmt.Errorf("%s is %v, and has to be a whole number", s.Name, v)
	}
	return nil
}

// portValues are the values of the settings that a run may set, of which all others are
// computed.
type portValues map[string]float64

func (p *Plan) portValues() portValues {
	out := portValues{}
	for _, s := range p.Settings {
		if s.Is == "" {
			out[s.Name] = s.Value
		}
	}
	return out
}

func (n portValues) of(name string) (float64, bool) {
	v, ok := n[name]
	return v, ok
}

// formula reads a formula of the settings.
func (n portValues) formula(text string) (*formula.Expr, error) {
	f, err := formula.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%.40q: %w", text, err)
	}
	for _, name := range f.Names() {
		if _, ok := n[name]; !ok {
			return nil, fmt.Errorf("%.40q is of %.40q, which is no setting", text, name)
		}
	}
	return f, nil
}

// port is what a formula comes to, as a port of that dtype can hold it.
func (n portValues) port(text, d string) (float64, error) {
	f, err := n.formula(text)
	if err != nil {
		return 0, err
	}
	v := f.Eval(n.of)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0) || d == dtype.F32.String() && math.Abs(v) > math.MaxFloat32:
		return 0, fmt.Errorf("%s is %v, and has to be a number that %s has", f, v, d)
	case d == dtype.I32.String() && (v != math.Trunc(v) || math.Abs(v) > math.MaxInt32):
		return 0, fmt.Errorf("%s is %v, and has to be a whole number of 32 bits", f, v)
	}
	return v, nil
}

// Setting is what a port of RoleSetting is fed: the formula, of the plan's settings, in the
// dtype of its buffer.
func (p *Plan) Setting(port *Port, d string) (float64, error) {
	return p.portValues().port(port.Path, d)
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

// GuardError is that a plan is not for these values.
type GuardError struct {
	Guard
	// Values are those of the settings in it, as name=value.
	Values []string
}

func (e *GuardError) Error() string {
	not := "not "
	if e.Holds {
		not = ""
	}
	return fmt.Sprintf("the plan is for values of which `%s` is %strue, which does not hold of %s", e.Text, not, strings.Join(e.Values, ", "))
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
		return nil, p.noSettings(values)
	}
	have := q.portValues()
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
	if err := q.checkSettings(); err != nil {
		return nil, err
	}
	return &q, nil
}

// checkSettings checks guards and what ports are fed.
func (p *Plan) checkSettings() error {
	err, have := p.validateSettings(), p.portValues()
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
	for i := range p.Devices {
		d := &p.Devices[i]
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

// noSettings says which names are no settings of the plan, and which there are.
func (p *Plan) noSettings(values map[string]float64) error {
	ports := p.Ports()
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

// text is a value as [Plan.Config] has it.
func (s *Setting) text() string {
	text := strconv.FormatFloat(s.Value, 'g', -1, 64)
	switch {
	case s.Whole:
		return strconv.FormatFloat(s.Value, 'f', -1, 64)
	case !strings.ContainsAny(text, ".e"):
		return text + ".0"
	}
	return text
}
