package compiler

import (
	"time"

	"ptc/backend"
	"ptc/ir"
	"ptc/lang"
	"ptc/passes"
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
	// What every pass is compared with has all instances of repeated modules.
	written, errs := low.program.Lower(lang.Options{Set: low.set, Layout: o.Layout, Ports: o.Ports})
	if len(errs) > 0 {
		return nil, r, errs
	}
	hook := func(i int, name string, m *ir.Module, took time.Duration) error {
		if i == 0 {
			m = written.Module
		}
		return k.Hook(i, name, m, took)
	}
	if err := runPasses(o, r, low.result.Module, t, []passes.Hook{hook}); err != nil {
		return nil, r, err
	}
	return &k.Report, r, nil
}
