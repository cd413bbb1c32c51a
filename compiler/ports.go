package compiler

import (
	"crypto/sha256"
	"encoding/hex"

	"ptc/ir"
	"ptc/ir/layout"
	"ptc/lang"
	"ptc/runtime/program"
	"ptc/stdlib"
)

// Outline is what a compilation with these options says of its config, without the
// passes: a plan with its name, layout, sources, config, settings, guards and number of
// steps, and nothing to run. By it points of a sweep are told apart that need plans of
// their own, and those that [program.Plan.Set] makes of one.
func Outline(o Options) (*program.Plan, *Report, error) {
	r := &Report{Source: func(string) (string, bool) { return "", false }}
	low, err := lower(o, r)
	if err != nil {
		return nil, r, err
	}
	m := low.result.Module
	p := &program.Plan{Name: m.Name, Layout: layout.Of(m).Name, Sources: low.sources(), Config: low.config()}
	p.Settings, p.Guards = low.settings()
	if t := m.MetaTerm("train"); t != nil {
		p.Data.Steps = t.Args.Int("steps", 0)
	}
	return p, r, nil
}

// sources are the texts that were compiled.
func (l *lowered) sources() (out []program.Source) {
	for _, s := range l.program.Sources {
		sum := sha256.Sum256([]byte(s.Text))
		out = append(out, program.Source{Name: s.Name, Text: s.Text, SHA256: hex.EncodeToString(sum[:])})
	}
	return out
}

// config is the config as a plan has it.
func (l *lowered) config() (out []program.KV) {
	out = pairs(l.result.Config)
	m := l.result.Module
	if t := m.MetaTerm("train"); t != nil && t.Args.Has("seed") && m.MetaTerm("config").Args.Get("seed") == nil {
		out = append(out, program.KV{Key: "seed", Value: t.Args.Get("seed").String()})
	}
	return out
}

// settings are the ports of a plan, and for what values of them it is.
func (l *lowered) settings() (settings []program.Setting, guards []program.Guard) {
	for _, s := range l.result.Settings {
		settings = append(settings, program.Setting(s))
	}
	for _, g := range l.result.Guards {
		guards = append(guards, program.Guard{Text: g.X.String(), Holds: g.Holds})
	}
	return settings, guards
}

// Configs reads the program of these options once, and gives what evaluates its config
// with other overrides than the options': the resolved entries as [program.Plan.Config]
// has them. It is false where there are mistakes: compiling says which.
func Configs(o Options) func(set []string) ([]program.KV, bool) {
	p, errs := lang.LoadWith(o.File, o.Source, o.Read, stdlib.Read)
	return func(set []string) ([]program.KV, bool) {
		list, err := overrides(set)
		if err != nil || len(errs) > 0 {
			return nil, false
		}
		config, errs := p.Config(list)
		return pairs(config), len(errs) == 0
	}
}

// pairs are entries of a config as text.
func pairs(attrs []ir.Attr) (out []program.KV) {
	for _, a := range attrs {
		v := a.Val.String()
		if s, ok := a.Val.(ir.Str); ok {
			v = string(s)
		}
		out = append(out, program.KV{Key: a.Key, Value: v})
	}
	return out
}
