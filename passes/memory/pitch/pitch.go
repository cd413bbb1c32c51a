package pitch

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/ir/targetinfo"
	"ptc/passes/pass"
)

const (
	// shortest is the fewest bytes of a row that is padded: of shorter ones padding would be too much.
	shortest = 64
	// share of a row is what it is padded by at most where less would do as well.
	share = 16
)

// Run pads the rows of what products write or read, where they are not multiples of what the target
// says and nobody but kernels sees them.
func Run(c *pass.Context, m *ir.Module) error {
	if c.Target.Rows.Least < 2 {
		return nil
	}
	p := &padder{rows: c.Target.Rows, m: m, kernels: map[*ir.Func]*fusion.Kernel{}, refused: map[*ir.Value]bool{}, pads: map[*ir.Value]int{}}
	for {
		p.choose()
		again, err := p.refuse()
		if err != nil {
			return err
		}
		if !again {
			break
		}
	}
	if len(p.pads) > 0 && c.May("pad rows", nil) {
		p.write(c)
	}
	return nil
}

type padder struct {
	rows    targetinfo.Rows
	m       *ir.Module
	kernels map[*ir.Func]*fusion.Kernel
	refused map[*ir.Value]bool // that a kernel cannot have padded
	pads    map[*ir.Value]int  // elements
}

// kernel is the analysis of a kernel function.
func (p *padder) kernel(f *ir.Func) (*fusion.Kernel, error) {
	if p.kernels[f] == nil {
		k, err := fusion.Analyze(f)
		if err != nil {
			return nil, fmt.Errorf("pitch: kernel @%s: %w", f.Name, err)
		}
		p.kernels[f] = k
	}
	return p.kernels[f], nil
}

// calls are the calls of the entry functions, in order.
func (p *padder) calls() []*ir.Op {
	var out []*ir.Op
	for _, f := range p.m.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		for _, o := range f.Ops {
			if op.Has(o, op.Calls) {
				out = append(out, o)
			}
		}
	}
	return out
}

// refuse notes values whose padding a kernel could not have, and reports whether there were any: one in
// which rows are merged with another axis, for example.
func (p *padder) refuse() (any bool, err error) {
	for _, o := range p.calls() {
		key := p.padsOf(o)
		if key.none() {
			continue
		}
		k, err := p.kernel(o.Callee)
		if err != nil {
			return false, err
		}
		padded, err := fusion.Analyze(key.padded(o.Callee))
		if err == nil && padded.Class == k.Class && len(padded.Sections) == len(k.Sections) {
			continue
		}
		any = true
		for _, v := range slices.Concat(o.Args, o.Results) {
			p.refused[v] = p.refused[v] || p.pads[v] > 0
		}
	}
	return any, nil
}

// padding is by how many elements the rows of t are padded, or 0.
func (p *padder) padding(t ir.Type) int {
	if t.Rank() < 2 || len(t.Partial) > 0 || t.Pad > 0 {
		return 0
	}
	size := t.DType.Size()
	row := t.Axes[t.Rank()-1].Size * size
	if row < shortest || row%p.rows.Least == 0 || p.rows.Least%size != 0 {
		return 0
	}
	to := p.rows.Least
	for x := p.rows.Best; x > to; x /= 2 {
		if x%p.rows.Least == 0 && up(row, x)-row <= row/share {
			to = x
		}
	}
	return (up(row, to) - row) / size
}

func up(n, to int) int { return (n + to - 1) / to * to }
