package compiler

import (
	"errors"
	"fmt"
	"slices"

	"ptc/backend"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/runtime/program"
)

// excess says, by the kind of limit, with which code and advice a program that
// is larger than plans can be is refused.
var excess = map[program.Limit]struct{ code, hint string }{
	program.SizeLimit:  {"E0615", "shard more (zero, tensor or pipeline parallel), or make the model or its batch smaller"},
	program.NameLimit:  {"E0616", "shorten the names of parameters, modules and axes"},
	program.CountLimit: {"E0617", "use fewer layers, microbatches or devices"},
}

// fits checks the finished plan. That it exceeds a limit is an error of the
// user's; whatever else is wrong with it is ours.
func fits(p *program.Plan) error {
	err := p.Validate()
	if err == nil {
		return nil
	}
	var l *program.LimitError
	if !errors.As(err, &l) {
		return &Bug{err}
	}
	return exceeds(l)
}

func exceeds(l *program.LimitError) error {
	x := excess[l.Kind]
	return &diag.Error{Code: x.code, Msg: "the plan has " + l.Text(),
		Want: fmt.Sprintf("at most %d", l.Most), Hint: x.hint}
}

// memories checks that the target has the memories that the layout offloads to.
func memories(m *ir.Module, t backend.Target) error {
	onDisk := func(f *ir.Func) bool { return f.Attrs.Int(ir.Disk.String(), 0) > 0 }
	if t.Info().Disk || !slices.ContainsFunc(m.Funcs, onDisk) {
		return nil
	}
	e := &diag.Error{Code: "E0418", Msg: fmt.Sprintf("devices of %s cannot offload to disk", t.Info().Name), Want: "`host`"}
	for _, r := range layout.All[*layout.Offload](layout.Of(m)) {
		if r.To == ir.Disk.String() {
			e.Pos = r.At
			break
		}
	}
	return e
}

// mostElems is how many elements of a tensor a kernel may read or write: code computes positions in it
// (backend/tile).
const mostElems = 1 << 40

// sizes checks what code is generated for, before it is.
func sizes(m *ir.Module) error {
	for _, f := range m.Funcs {
		if f.Class != ir.Kernel {
			continue
		}
		for _, a := range f.Args {
			if err := size(a.Value.Type); err != nil {
				return err
			}
		}
		for _, r := range f.Results {
			if err := size(r.Value.Type); err != nil {
				return err
			}
		}
	}
	return nil
}

func size(t ir.Type) error {
	n := t.Room()
	if n <= mostElems {
		return nil
	}
	return exceeds(&program.LimitError{Kind: program.SizeLimit, What: "a tensor of %d elements on a device", Got: int64(n), Most: mostElems})
}
