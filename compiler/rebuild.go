package compiler

import (
	"fmt"
	"io/fs"
	"reflect"
	"strings"

	"ptc/backend/tile/schedule"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang"
	"ptc/runtime/program"
	"ptc/stdlib"
)

// Rebuild compiles the sources in a plan anew, to one that trains or samples as it does, with its config and its layout,
// for target, which if empty is the plan's, and then its schedules. Nothing else of the
// plan is used, its code least of all, and no file is read: also the standard library is
// the one that the plan holds. The same version of ptc and of LLVM give the same bytes.
//
// Hooks are as in Options. The error is as Compile's; diagnostics are about the
// sources of the plan.
func Rebuild(p *program.Plan, target string, hooks ...Hook) (*program.Plan, *Report, error) {
	if samples(p) {
		return rebuild(p, target, &Sample{}, hooks...)
	}
	return rebuild(p, target, nil, hooks...)
}

func rebuild(p *program.Plan, target string, sample *Sample, hooks ...Hook) (*program.Plan, *Report, error) {
	if len(p.Sources) == 0 {
		return nil, &Report{Source: func(string) (string, bool) { return "", false }}, &diag.Error{
			Code: "E0231", Msg: "the plan holds no sources", Want: "a plan that `ptc compile` made"}
	}
	if target == "" {
		target = p.Target
	}
	var given *schedule.Table
	if target == p.Target && sample == nil { // kernels that sample are others
		var err error
		if given, err = schedulesOf(p); err != nil {
			return nil, &Report{Source: func(string) (string, bool) { return "", false }}, err
		}
	}
	texts := map[string]string{}
	for _, s := range p.Sources {
		texts[s.Name] = s.Text
	}
	return Compile(Options{
		File:   p.Sources[0].Name,
		Source: []byte(p.Sources[0].Text),
		Layout: p.Layout,
		Target: target,
		Read: func(path string) ([]byte, error) {
			if text, ok := texts[path]; ok {
				return []byte(text), nil
			}
			return nil, fmt.Errorf("the plan does not hold it: %w", fs.ErrNotExist)
		},
		Schedules: given,
		Hooks:     hooks,
		Sample:    sample,
		plan:      p,
		Ports:     p.Ports(),
	})
}

// planLibrary is the standard library in a plan.
func planLibrary(p *program.Plan) lang.Library {
	return func(name string) (string, bool) {
		for _, s := range p.Sources {
			if s.Name == "std/"+name+".ptl" {
				return s.Text, true
			}
		}
		return "", false
	}
}

// IsLibrary says whether a source in a plan is a file of the standard library as
// this ptc has it.
func IsLibrary(name, text string) bool {
	name, ok := strings.CutPrefix(strings.TrimSuffix(name, ".ptl"), "std/")
	if !ok {
		return false
	}
	ours, ok := stdlib.Read(name)
	return ok && ours == text
}

// planConfig replaces every entry of the sources' config by the plan's value of
// it. A seed that is not among the entries comes from the train block.
func planConfig(p *program.Plan, prog *lang.Program) []lang.Override {
	var out []lang.Override
	for _, kv := range p.Config {
		if kv.Key == "seed" && !prog.HasConfig("seed") {
			continue
		}
		v := kv.Value
		for _, s := range p.Settings {
			if s.Name == kv.Key && s.Is != "" { // computed of others still
				v = s.Is
			}
		}
		if strings.HasPrefix(v, `"`) { // an override in quotes is read as a literal
			v = ir.Str(v).String()
		}
		out = append(out, lang.Override{Key: kv.Key, Value: v})
	}
	return out
}

// Differences names the parts in which two plans differ, in order; none if they
// are equal.
func Differences(a, b *program.Plan) []string {
	var out []string
	for _, part := range []struct {
		name string
		of   func(p *program.Plan) any
	}{
		{"the version of ptc", func(p *program.Plan) any { return p.Compiler }},
		{"the version of LLVM", func(p *program.Plan) any { return p.LLVM }},
		{"the target", func(p *program.Plan) any { return []any{p.Target, p.Features, p.Roof} }},
		{"the names", func(p *program.Plan) any { return []string{p.Name, p.Layout} }},
		{"the sources", func(p *program.Plan) any { return p.Sources }},
		{"the names of other programs", func(p *program.Plan) any { return p.Names }},
		{"the schedules", func(p *program.Plan) any { return p.Schedules }},
		{"the adapters", func(p *program.Plan) any { return p.Adapters }},
		{"the config", func(p *program.Plan) any { return p.Config }},
		{"the ports", func(p *program.Plan) any { return []any{p.Settings, p.Guards} }},
		{"the mesh", func(p *program.Plan) any { return []any{p.Mesh, p.Refined, p.Memory} }},
		{"the code", func(p *program.Plan) any { return []any{p.Code, p.Variants} }},
		{"the kernels", func(p *program.Plan) any { return p.Kernels }},
		{"the programs of the devices", func(p *program.Plan) any { return []any{p.By, p.Devices} }},
		{"the data", func(p *program.Plan) any { return p.Data }},
		{"the passes", func(p *program.Plan) any { return p.Passes }},
		{"the remarks", func(p *program.Plan) any { return p.Remarks }},
		{"the statistics", func(p *program.Plan) any { return p.Stats }},
	} {
		if !reflect.DeepEqual(part.of(a), part.of(b)) {
			out = append(out, part.name)
		}
	}
	return out
}
