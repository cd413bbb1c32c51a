package verify

import (
	"fmt"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

func init() {
	AtLevel(ir.Global, "one device", oneDevice)
	for l := ir.Global; l <= ir.Planned; l++ {
		AtLevel(l, "operations", classes)
	}
	for _, l := range []ir.Level{ir.Fused, ir.Planned} {
		AtLevel(l, "kernels", kernels)
	}
}

// oneDevice: no value of the Global level is sharded or partial.
func oneDevice(m *ir.Module) diag.List {
	var l diag.List
	check := func(f *ir.Func, pos diag.Pos, v *ir.Value) {
		t := v.Type
		for _, a := range t.Axes {
			if len(a.Mesh) > 0 {
				l = append(l, &diag.Error{Code: codeLevel, Pos: pos, Msg: fmt.Sprintf("%%%d in @%s is sharded at level global: %s", v.ID, f.Name, t)})
				return
			}
		}
		if len(t.Partial) > 0 {
			l = append(l, &diag.Error{Code: codeLevel, Pos: pos, Msg: fmt.Sprintf("%%%d in @%s is partial at level global: %s", v.ID, f.Name, t)})
		}
	}
	for _, f := range m.Funcs {
		for _, a := range f.Args {
			check(f, a.Pos, a.Value)
		}
		for _, o := range f.Ops {
			for _, r := range o.Results {
				check(f, o.Pos, r)
			}
		}
	}
	return l
}

// classes: which operations a level knows. Symbolic ones are expanded before
// layouts are looked at; collectives come with local shapes; from Fused on,
// functions call kernels and exchange data, and kernels do neither.
func classes(m *ir.Module) diag.List {
	var l diag.List
	for _, f := range m.Funcs {
		kernel := f.Class == ir.Kernel
		for _, o := range f.Ops {
			msg := ""
			switch c := op.Of(o).Class; {
			case c == op.Symbolic && m.Level > ir.Global:
				msg = "exists at level global only"
			case c == op.Placement && m.Level != ir.Sharded:
				msg = "exists at level sharded only"
			case c == op.Collective && m.Level < ir.Local:
				msg = "exists from level local on"
			case c == op.Movement && exchange(m, o) != "":
				msg = exchange(m, o)
			case kernel && (c == op.Control || c == op.Collective || c == op.Boundary):
				msg = "cannot be in a kernel"
			case !kernel && m.Level >= ir.Fused && c != op.Control && c != op.Collective && c != op.Boundary:
				msg = "is outside a kernel"
			}
			if msg != "" {
				l = append(l, &diag.Error{Code: codeLevel, Pos: o.Pos, Msg: fmt.Sprintf("%s at level %s: `%s` %s", at(f, o), m.Level, o.Name, msg)})
			}
		}
	}
	return l
}

// exchange is what is wrong with an operation that moves elements along an axis
// to other positions: its axis is replicated or one position is on each device, and
// partition expands it.
func exchange(m *ir.Module, o *ir.Op) string {
	for _, f := range op.Of(o).Shard(o).Factors {
		if f.Kind != op.Exchange {
			continue
		}
		if m.Level >= ir.Local {
			return "exists until level sharded only"
		}
		for i, axis := range f.Args {
			if axis == "" {
				continue
			}
			t := o.Args[i].Type
			if mesh := t.Axes[t.Index(axis)].Mesh; len(mesh) > 0 && (len(mesh) > 1 || m.MeshSize(mesh[0]) != f.Size) {
				return fmt.Sprintf("needs `%s` replicated, or one of its %d positions on each device of one mesh axis", axis, f.Size)
			}
		}
	}
	return ""
}

// kernels: every function is an entry or a kernel that can be tiled.
func kernels(m *ir.Module) diag.List {
	var l diag.List
	for _, f := range m.Funcs {
		if f.Class != ir.Kernel || hasCalls(f) {
			continue // what is in there instead, classes reports
		}
		if _, err := fusion.Analyze(f); err != nil {
			l = append(l, &diag.Error{Code: codeLevel, Msg: fmt.Sprintf("kernel @%s cannot be tiled: %v", f.Name, err)})
		}
	}
	return l
}

func hasCalls(f *ir.Func) bool {
	return slices.ContainsFunc(f.Ops, func(o *ir.Op) bool {
		c := op.Of(o).Class
		return c == op.Control || c == op.Collective || c == op.Symbolic
	})
}
