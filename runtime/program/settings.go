package program

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"ptc/internal/dtype"
	"ptc/internal/formula"
)

// Setting is an entry of the config that is a port of the plan: ports of RoleSetting are
// computed of the values of all. Where Is is not empty, it is the formula by which the entry
// is computed of others, and a run cannot set it.
type Setting struct {
	Name  string  `cbor:"1,keyasint,omitempty"`
	Value float64 `cbor:"2,keyasint,omitempty"`
	Whole bool    `cbor:"3,keyasint,omitempty"` // it has to be a whole number
	Is    string  `cbor:"4,keyasint,omitempty"`
}

// Guard is a comparison of settings, such as `decay != 0`, and whether it holds in the
// plan: which operations there are may depend on it.
type Guard struct {
	Text  string `cbor:"1,keyasint,omitempty"`
	Holds bool   `cbor:"2,keyasint,omitempty"`
}

// maxSettings bounds settings and guards.
const maxSettings = 4096

// validateSettings checks the settings, and that the guards hold of them.
func validateSettings(settings []Setting, guards []Guard) error {
	if len(settings) > maxSettings || len(guards) > maxSettings {
		return fmt.Errorf("%d settings and %d guards", len(settings), len(guards))
	}
	have, seen := portValuesOf(settings), map[string]bool{}
	for i, s := range settings {
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
	for _, g := range guards {
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

func portValuesOf(settings []Setting) portValues {
	out := portValues{}
	for _, s := range settings {
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
