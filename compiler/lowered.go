package compiler

import "ptc/ir"

// Lowered is a program as the front end leaves it.
type Lowered struct {
	Module *ir.Module // at Global
	Config []ir.Attr  // resolved entries
}

// Lower runs the front end alone. The error and the report are as Compile's.
func Lower(o Options) (*Lowered, *Report, error) {
	r := &Report{Source: func(string) (string, bool) { return "", false }}
	low, err := lower(o, r)
	if err != nil {
		return nil, r, err
	}
	return &Lowered{low.result.Module, low.result.Config}, r, nil
}
