package compiler

import (
	"ptc/backend"
	"ptc/passes/check"
)

// CheckReport is the result of translation validation.
type CheckReport = check.Report

// Check runs every pass and executes the module before and after each on
// random inputs. A pass that changes the result is in the report, not the
// error.
func Check(o Options) (*CheckReport, *Report, error) {
	r := &Report{Source: func(string) (string, bool) { return "", false }}
	low, err := lower(o, r)
	if err != nil {
		return nil, r, err
	}
	t, err := backend.Resolve(o.Target)
	if err != nil {
		return nil, r, err
	}
	r.Target = t.Name()
	k := check.New(1)
	o.VerifyEach = true
	if err := runPasses(o, r, low.result.Module, t, hooksOf(k)); err != nil {
		return nil, r, err
	}
	return &k.Report, r, nil
}
