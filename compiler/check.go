package compiler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ptc/backend"
	"ptc/internal/diag"
	"ptc/internal/units"
	"ptc/ir"
	"ptc/lang"
	"ptc/passes"
	"ptc/passes/check"
)

// CheckReport is the result of translation validation.
type CheckReport = check.Report

// Check runs every pass and executes the module before and after each on
// random inputs. A pass that changes the result is in the report, not the
// error. Sizes that need more than Options.CheckMemory are an error before anything
// is executed.
func Check(o Options) (*CheckReport, *Report, error) {
	o.VerifyEach = true
	if o.CheckMemory > 0 {
		if r, err := affordable(o); err != nil {
			return nil, r, err
		}
	}
	k := check.New(1)
	_, r, err := watched(o, k.Hook)
	if err != nil {
		return nil, r, err
	}
	return &k.Report, r, nil
}

// watched runs every pass under a hook, which gets the module as it came with all
// instances of repeated modules: what every pass is compared with.
func watched(o Options, hook passes.Hook) (*lowered, *Report, error) {
	r := &Report{Source: func(string) (string, bool) { return "", false }}
	low, err := lower(o, r)
	if err != nil {
		return nil, r, err
	}
	t, err := backend.Resolve(o.Target)
	if err != nil {
		return nil, r, err
	}
	r.Target = t.Info().Name
	written, errs := low.program.Lower(lang.Options{Set: low.set, Layout: o.Layout, Ports: o.Ports})
	if len(errs) > 0 {
		return nil, r, errs
	}
	first := func(i int, name string, m *ir.Module, took time.Duration) error {
		if i == 0 {
			m = written.Module
		}
		return hook(i, name, m, took)
	}
	return low, r, runPasses(o, r, low.result.Module, t, []passes.Hook{first})
}

// affordable is an error where the check needs more memory than it may take.
func affordable(o Options) (*Report, error) {
	var n check.Needs
	o.Hooks, o.VerifyEach = nil, false
	low, r, err := watched(o, n.Hook)
	need := n.Bytes + n.Bytes/8 // operations need some for themselves
	if err != nil || need <= o.CheckMemory {
		return r, err
	}
	at := "the module as it is written"
	if n.Pass != "" {
		at = "the module behind pass `" + n.Pass + "`"
	}
	return r, &diag.Error{Code: "E0619", Msg: fmt.Sprintf("a check of these sizes needs about %s of memory, to execute %s in float64, and %s are available",
		units.Bytes(need), at, units.Bytes(o.CheckMemory)), Hint: smaller(low)}
}

// smaller says which entries of the config are sizes that can be set.
func smaller(low *lowered) string {
	axes := map[string]bool{}
	for _, f := range low.result.Module.Funcs {
		for _, o := range f.Ops {
			for _, v := range o.Results {
				for _, a := range v.Type.Axes {
					axes[a.Name] = true
				}
			}
		}
	}
	var sizes []string
	for _, c := range low.result.Config {
		if n, ok := c.Val.(ir.Int); ok && n > 1 && axes[c.Key] {
			sizes = append(sizes, fmt.Sprintf("%s = %d", c.Key, n))
		}
	}
	const most = 8
	if len(sizes) > most {
		sizes = append(slices.Clone(sizes[:most]), "…")
	}
	now := ""
	if len(sizes) > 0 {
		now = " instead of " + strings.Join(sizes, ", ")
	}
	return "smaller sizes go through the same passes: `--set name=size`" + now
}
