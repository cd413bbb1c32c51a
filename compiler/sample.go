package compiler

import (
	"fmt"
	"slices"
	"strconv"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang"
	"ptc/passes/decode"
	"ptc/passes/pass"
	"ptc/runtime/program"
)

// Sample asks for a plan that samples: its program sample computes the logits of one
// position after the other, and prefill fills the caches for a block of them. It is for
// one device.
type Sample struct {
	Batch  int // how many prompts at once; 0: the batch of the source
	Length int // how many positions; 0: as the source has it
	Prompt int // how many tokens the longest prompt has; 0: not known
}

// SampleProgram is the name of the program of a plan that samples.
const SampleProgram = "sample"

const (
	// blockRows is how many positions of a prompt are computed at once, at most: enough
	// for products that do not wait for memory. blockTokens bounds them in all sequences.
	blockRows, blockTokens = 128, 8192
	// fewRows are run one by one: a second program would cost more to compile.
	fewRows = 8
)

// block is how many positions a block has, with the caches of length positions; less
// than 2 where there is to be none. The last token of a prompt is run by itself, for its
// logits; the others are cut into blocks that are alike, of which the last one is padded
// if it may be.
func (s *Sample) block(batch, length int, pads bool) int {
	rows, most := length-1, min(blockRows, blockTokens/batch)
	if s.Prompt > 0 {
		rows = min(rows, s.Prompt-1)
	}
	if rows < fewRows && s.Prompt > 0 || rows < 1 || most < 2 {
		return 0
	}
	blocks := (rows + most - 1) / most
	if !pads {
		return rows / blocks
	}
	return (rows + blocks - 1) / blocks
}

// RebuildSample compiles the sources in a plan to one that samples, as [Rebuild] does.
// A plan that samples already is compiled anew too.
func RebuildSample(p *program.Plan, target string, s Sample) (*program.Plan, *Report, error) {
	return rebuild(p, target, &s)
}

// samples reports whether a plan is one that samples.
func samples(p *program.Plan) bool {
	for i := range p.Devices {
		if slices.ContainsFunc(p.Devices[i].Progs, func(x program.Program) bool { return x.Name == SampleProgram }) {
			return true
		}
	}
	return false
}

// lowerSample lowers to @sample with the sizes that are asked for. Axes have the sizes
// of config entries of their names, which are replaced.
func lowerSample(p *lang.Program, o lang.Options, s *Sample, r *Report) (*lang.Result, diag.List) {
	o.Sample = true
	res, errs := p.Lower(o)
	if len(errs) > 0 {
		return nil, errs
	}
	tokens := res.Module.Func(SampleProgram).Args
	axes := tokensOf(tokens).Axes
	if len(axes) == 0 {
		return nil, diag.List{{Code: "E0720", Msg: "the logits of the model do not depend on its tokens"}}
	}
	resize := false
	for i, n := range []int{s.Batch, s.Length} {
		name, has := axes[i].Name, axes[i].Size
		if n == 0 || n == has {
			continue
		}
		if a := holder(tokens, name); i == 1 && a != nil {
			return nil, diag.List{{Code: "E0723", Pos: a.Pos, Msg: fmt.Sprintf("the parameter `%s` has the axis `%s`, so there are %d positions, not %d", a.Path, name, has, n)}}
		}
		if !p.HasConfig(name) {
			return nil, diag.List{{Code: "E0723", Msg: fmt.Sprintf("`%s` is %d, and no entry of the config gives it another size, such as %d", name, has, n)}}
		}
		o.Set = append(o.Set, lang.Override{Key: name, Value: strconv.Itoa(n)})
		resize = true
	}
	if resize {
		if res, errs = p.Lower(o); len(errs) > 0 {
			return nil, errs
		}
	}
	if errs := derive(res, s, r); len(errs) > 0 {
		return nil, errs
	}
	return res, nil
}

// derive puts the function of one position in the place of that of all, or where there
// is none one that computes all of it for each token.
func derive(res *lang.Result, s *Sample, r *Report) diag.List {
	m := res.Module
	axes := tokensOf(m.Funcs[0].Args).Axes
	for i, n := range []int{s.Batch, s.Length} {
		if n != 0 && axes[i].Size != n {
			return diag.List{{Code: "E0723", Msg: fmt.Sprintf("`%s` is %d, whatever the config entry of that name says, and not %d", axes[i].Name, axes[i].Size, n)}}
		}
	}
	remark := func(format string, args ...any) {
		r.Remarks = append(r.Remarks, pass.Remark{Pass: "decode", Text: fmt.Sprintf(format, args...)})
	}
	if decode.Slides(m.Funcs[0]) {
		remark("the window slides: each token is computed from the previous %d", axes[1].Size)
		return whole(m)
	}
	d, err := decode.Derive(m.Funcs[0])
	if e, ok := diag.As(err); ok {
		if e[0].Code != "E0722" {
			return e
		}
		remark("each token is computed from all positions again: %s (%s)", e[0].Msg, e[0].Pos)
		return whole(m)
	} else if err != nil {
		return diag.List{{Code: "E0722", Msg: err.Error()}}
	}
	m.Funcs[0] = d.Func
	if axes[0].Size > 1 {
		if f, err := d.Apart(); err != nil {
			remark("all sequences are at the same position: %v", err)
		} else {
			m.Funcs[0] = f
		}
	}
	if n := s.block(axes[0].Size, d.Length, !d.Counts()); n > 1 {
		if f, err := d.Block(n); err != nil {
			remark("prompts are read token by token: %v", err)
		} else {
			m.Funcs = append(m.Funcs, f)
			remark("prompts fill the caches in blocks of %d positions", n)
		}
	}
	for _, x := range d.Remarks {
		remark("%s", x)
	}
	return nil
}

// whole puts the function that has no caches in the place of that of all positions.
func whole(m *ir.Module) diag.List {
	f, err := decode.Window(m.Funcs[0])
	if err != nil {
		return diag.List{{Code: "E0722", Msg: err.Error()}}
	}
	m.Funcs[0] = f
	return nil
}

// tokensOf is the type of the tokens among arguments.
func tokensOf(args []*ir.Arg) (t ir.Type) {
	for _, a := range args {
		if a.Role == ir.RoleData {
			t = a.Value.Type
		}
	}
	return t
}

// holder is a parameter with the axis, or nil.
func holder(args []*ir.Arg, axis string) *ir.Arg {
	for _, a := range args {
		if a.Role == ir.RoleParam && a.Value.Type.Has(axis) {
			return a
		}
	}
	return nil
}
