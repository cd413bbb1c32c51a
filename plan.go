package ptc

import (
	"context"

	"ptc/compiler"
	"ptc/runtime/checkpoint/atomicfile"
	"ptc/runtime/explain"
	"ptc/runtime/program"
)

// Plan is everything that a run needs: code, memory, order, a description of the
// data, and the sources. It does not change.
type Plan struct{ p *program.Plan }

// ReadPlan reads a plan from a file. Its code is not executed before Run; whoever
// wrote the file decides what it does then. [Rebuild] uses its sources alone.
func ReadPlan(path string) (*Plan, error) {
	p, err := program.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &Plan{p}, nil
}

// DecodePlan reads the bytes of a plan.
func DecodePlan(data []byte) (*Plan, error) {
	p, err := program.Decode(data)
	if err != nil {
		return nil, err
	}
	return &Plan{p}, nil
}

// Encode gives the bytes of the plan's file. Equal plans have equal bytes.
func (p *Plan) Encode() ([]byte, error) { return program.Encode(p.p) }

// WriteFile puts the plan at path, whole or not at all.
func (p *Plan) WriteFile(path string) error {
	data, err := p.Encode()
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, data)
}

// Ports are the config entries that [Plan.Set] can give other values.
func (p *Plan) Ports() []string { return p.p.Ports() }

// Set is the plan with other values of ports; p stays as it is. The error says what is no
// port, or that the plan is not for these values, as one with weight decay for none.
func (p *Plan) Set(values map[string]float64) (*Plan, error) {
	q, err := p.p.Set(values)
	if err != nil {
		return nil, err
	}
	return &Plan{q}, nil
}

// Rebuild compiles the sources in a plan anew, with its config and layout, for
// target, which if empty is the plan's; for "ref" the result has no native code.
// No code of the plan is used and no file read. The same versions of ptc and of
// LLVM give the same bytes.
func Rebuild(ctx context.Context, p *Plan, target string) (*Plan, *Report, error) {
	return finish(ctx, func(each compiler.Hook) (*program.Plan, *Report, error) {
		return compiler.Rebuild(p.p, target, each)
	})
}

// Description is what a plan does: memory, kernels, communication, parameters, in
// bytes and FLOP of a step. Encoded as JSON it is what "ptc explain --json" prints;
// within one Version fields are added and none changes its meaning.
type Description = explain.Description

// Explain describes a plan.
func Explain(p *Plan) *Description { return explain.Describe(p.p) }
