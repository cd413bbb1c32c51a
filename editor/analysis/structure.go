package analysis

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"ptc/compiler"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/runtime/explain"
)

// shards is the pass after which every type has its sharding.
const shards = "propagate"

// Structure is what a compilation of a program says of it.
type Structure struct {
	Errs diag.List // of the passes: too little memory, and the like
	// Plan describes the plan, with the memory that it has for the input's target; nil with
	// errors.
	Plan *explain.Description
	// Ops are the types of what each expression of @step computes, by its place, in the
	// order of the step; Params those of parameters, by their path with stars.
	Ops    map[string][]ir.Type
	Params map[string]ir.Type
	// Paths are those of the instances of each module, with stars.
	Paths map[string][]string
}

// Compile compiles the program under its layout. It is nil where ctx ended, and where
// something is wrong that a Program has said already.
func Compile(ctx context.Context, in Input, layout string) *Structure {
	s := &Structure{Ops: map[string][]ir.Type{}, Params: map[string]ir.Type{}, Paths: map[string][]string{}}
	hook := func(_ int, name string, text func() string, _ time.Duration) error {
		if err := ctx.Err(); err != nil || name != shards {
			return err
		}
		m, errs := ir.Parse(name, []byte(text()))
		if len(errs) > 0 {
			return fmt.Errorf("the module after %s does not parse: %w", name, errs)
		}
		s.read(m)
		return nil
	}
	plan, _, err := compiler.Compile(compiler.Options{File: in.Name, Source: []byte(in.Text), Read: in.Read, Layout: layout,
		Target: reference, Forms: forms(in.Target), Hooks: []compiler.Hook{hook}})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		var ok bool
		if s.Errs, ok = diag.As(err); !ok {
			return nil
		}
		return s
	}
	s.Plan = explain.Describe(plan)
	return s
}

// reference is the target that a program is compiled for: no code has to be made for it.
const reference = "ref"

// forms is the target whose kernels and memory are looked at: the one that is named, or
// what a compilation without a name has where libLLVM is, if it knows this processor.
func forms(target string) string {
	if target == "" && compiler.HasTarget("cpu") {
		return "cpu"
	}
	return cmp.Or(target, reference)
}

// read notes the shardings of the step.
func (s *Structure) read(m *ir.Module) {
	if t := m.MetaTerm("instances"); t != nil {
		for _, a := range t.Args {
			s.Paths[a.Key] = strings.Split(t.Args.Text(a.Key), ", ")
		}
	}
	step := m.Func("step")
	if step == nil {
		return
	}
	for _, a := range step.Args {
		if a.Role == ir.RoleParam {
			s.Params[Starred(a.Path)] = a.Value.Type
		}
	}
	for _, o := range step.Ops {
		if !o.Pos.IsValid() || o.Slot.Phase == ir.Backward {
			continue
		}
		at := o.Pos.String()
		for _, r := range o.Results {
			s.Ops[at] = append(s.Ops[at], r.Type)
		}
	}
}

// Sharded is the sharding of a value of type t that the expression at a place computes:
// that of the first one there with its axes. Of a pipeline it is that of a microbatch.
func (s *Structure) Sharded(at diag.Pos, t ir.Type) (ir.Type, bool) {
	for _, u := range s.Ops[at.String()] {
		if sameAxes(t, u) {
			return u, true
		}
	}
	return ir.Type{}, false
}

func sameAxes(t, u ir.Type) bool {
	return len(t.Axes) == len(u.Axes) && !slices.ContainsFunc(t.Axes, func(a ir.Axis) bool {
		n := u.Size(a.Name)
		return n < 1 || a.Size%n != 0
	})
}

// folded is several numbers in a path: 0..31.
var folded = regexp.MustCompile(`\d+\.\.\d+`)

// Starred is a path with its numbers, and what stands for them, as stars.
func Starred(path string) string {
	parts := strings.Split(folded.ReplaceAllString(path, "*"), ".")
	for i, p := range parts {
		if p != "" && (p[0] >= '0' && p[0] <= '9' || p[0] == '{') {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, ".")
}

// Collectives is how many a step has within instances of these paths; within all where
// there are none.
func (s *Structure) Collectives(paths []string) (n int) {
	for _, c := range s.Plan.Collectives {
		if c.Kind == "send" || c.Kind == "recv" { // of a pipeline, from one device to one
			continue
		}
		scope := Starred(c.Scope)
		if len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool { return scope == p || strings.HasPrefix(scope, p+".") }) {
			n += c.Count
		}
	}
	return n
}

// Memory is the most memory that a device needs, in bytes.
func (s *Structure) Memory() int64 {
	if len(s.Plan.Memory.Peak) == 0 {
		return 0
	}
	return slices.Max(s.Plan.Memory.Peak)
}
