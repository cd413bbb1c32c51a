package main

import (
	"fmt"
	"slices"
	"strconv"

	"ptc/compiler"
	"ptc/runtime/program"
	"ptc/runtime/sweep"
)

// planGroup is points of a sweep that one plan is for: they differ in values of its ports.
type planGroup struct {
	number  int               // from 1
	options compiler.Options  // of its first point
	outline *program.Plan     // see compiler.Outline
	plan    *program.Plan     // nil while it is not needed
	left    int               // points that are to be run
	written bool              // to a file, for processes
	static  []compiler.Static // axes that are no ports
}

// placed is a point with its group.
type placed struct {
	sweep.Point
	group   *planGroup
	values  map[string]float64 // of the ports
	outline *program.Plan      // the group's, with these values
	seed    *uint64            // of the run; nil: as the config says
}

// place finds the group of every point: the first whose plan is for it, or one of its own.
// Nothing is compiled.
func (s *sweeping) place(points []sweep.Point) ([]*placed, error) {
	u, err := s.openUnit(s.path, s.f.importsBelow)
	if err != nil {
		return nil, err
	}
	s.f.apply(&u.opts)
	config := compiler.Configs(u.opts)
	var groups []*planGroup
	var out []*placed
	for _, p := range points {
		x := &placed{Point: p}
		opts := u.opts
		if opts.Set, x.seed, err = s.settings(p); err != nil {
			return nil, err
		}
		if have, ok := config(opts.Set); ok {
			x.find(groups, have)
		}
		if x.group == nil {
			for _, set := range p.Settings {
				if slices.Contains(s.entries, set.Name) {
					opts.Ports = append(opts.Ports, set.Name)
				}
			}
			g := &planGroup{number: len(groups) + 1, options: opts}
			var r *compiler.Report
			if g.outline, r, err = compiler.Outline(opts); err != nil {
				return nil, compileError(err, u.sources(r))
			}
			g.static, groups = r.Static, append(groups, g)
			x.group, x.outline = g, g.outline
			x.values = valuesOf(g.outline, g.outline.Config)
		}
		out = append(out, x)
	}
	s.tellGroups(groups, len(points))
	return out, nil
}

// find looks for the group of a point with this config.
func (p *placed) find(groups []*planGroup, config []program.KV) {
	if slices.ContainsFunc(groups, func(g *planGroup) bool { return p.fits(g, config) }) {
		return
	}
}

// fits makes a group that of the point, if it is for this config: with its values of the
// ports it has the same one.
func (p *placed) fits(g *planGroup, config []program.KV) bool {
	values := valuesOf(g.outline, config)
	if values == nil {
		return false
	}
	outline, err := g.outline.Set(values)
	if err != nil {
		return false // a guard says that it is for others
	}
	for i, kv := range config {
		if i >= len(outline.Config) || outline.Config[i] != kv {
			return false
		}
	}
	p.group, p.values, p.outline = g, values, outline
	return true
}

// valuesOf are the numbers that a config has for the ports of a plan; nil where one is
// none.
func valuesOf(plan *program.Plan, config []program.KV) map[string]float64 {
	values := map[string]float64{}
	ports := plan.Ports()
	for _, kv := range config {
		if !slices.Contains(ports, kv.Key) {
			continue
		}
		v, err := strconv.ParseFloat(kv.Value, 64)
		if err != nil {
			return nil
		}
		values[kv.Key] = v
	}
	return values
}

// tellGroups says how many plans there are, and which axes make more than one.
func (s *sweeping) tellGroups(groups []*planGroup, points int) {
	if s.f.plan != "" || s.f.list || points == 0 {
		return
	}
	plural := func(n int, what string) string {
		if n == 1 {
			return "1 " + what
		}
		return fmt.Sprintf("%d %ss", n, what)
	}
	fmt.Fprintf(s.err, "%s for %s\n", plural(len(groups), "plan"), plural(points, "point"))
	var said []string
	for _, g := range groups {
		for _, x := range g.static {
			if !slices.Contains(said, x.Name) {
				said = append(said, x.Name)
				fmt.Fprintf(s.err, "  %s\n", x)
			}
		}
	}
}

// settings are the config entries of a point, and its seed where the source's config has
// no entry for that: it is then the run's.
func (s *sweeping) settings(p sweep.Point) (set []string, seed *uint64, err error) {
	set = slices.Clone(s.f.set)
	for _, x := range p.Settings {
		if x.Name == "seed" && !slices.Contains(s.entries, "seed") {
			n, err := strconv.ParseUint(x.Value, 10, 64)
			if err != nil {
				return nil, nil, usagef("--over: the seed %s is not an integer of at least 0", x.Value)
			}
			seed = &n
			continue
		}
		set = append(set, x.Name+"="+x.Value)
	}
	return set, seed, nil
}

// compile makes the plan of a group.
func (s *sweeping) compile(g *planGroup) (*program.Plan, error) {
	plan, r, err := compiler.Compile(g.options)
	if err != nil {
		u := unit{path: s.path, opts: g.options}
		return nil, compileError(err, u.sources(r))
	}
	return plan, nil
}
