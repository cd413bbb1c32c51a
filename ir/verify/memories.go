package verify

import (
	"fmt"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
)

const codeMemory = "E0320" // a value in another memory than its reader can reach

func init() {
	for _, l := range []ir.Level{ir.Local, ir.Fused, ir.Planned} {
		AtLevel(l, "memories", memories)
	}
}

// memories: what computes and what exchanges reads and writes device memory
// alone; what is elsewhere is copied to the device first, and a new parameter or state is in
// the memory of the old one.
func memories(m *ir.Module) diag.List {
	var l diag.List
	at := map[string]ir.Memory{} // arguments of all functions
	for _, f := range m.Funcs {
		bug := func(pos diag.Pos, format string, args ...any) {
			l = append(l, &diag.Error{Code: codeMemory, Pos: pos, Msg: fmt.Sprintf("@%s: ", f.Name) + fmt.Sprintf(format, args...)})
		}
		in := op.Memories(f)
		for _, a := range f.Args {
			mem, key := in[a.Value], a.Role+" "+a.Path
			if mem != ir.Device && a.Role != ir.RoleParam && a.Role != ir.RoleState {
				bug(a.Pos, "argument %%%d, a %s, cannot be in memory `%s`", a.Value.ID, a.Role, mem)
			}
			if a.Role != ir.RoleParam && a.Role != ir.RoleState {
				continue
			}
			if old, ok := at[key]; ok && old != mem {
				bug(a.Pos, "%s %q is in memory `%s` here and `%s` in another function", a.Role, a.Path, mem, old)
			}
			at[key] = mem
		}
		for _, o := range f.Ops {
			for i, v := range o.Args {
				if msg := unreachable(o, in[o.Args[0]], in[v]); msg != "" {
					bug(o.Pos, "operand %d of `%s`, %%%d, %s", i+1, o.Name, v.ID, msg)
				}
			}
		}
		args := f.Named()
		for _, r := range f.Results {
			want := ir.Device
			if a := args.Arg(r.Role, r.Path); a != nil {
				want = in[a.Value]
			}
			if in[r.Value] != want {
				bug(diag.Pos{}, "result %s %q is in memory `%s`, not `%s`", r.Role, r.Path, in[r.Value], want)
			}
		}
	}
	return l
}

// unreachable says why o cannot have an operand in this memory; first is that of
// its first operand.
func unreachable(o *ir.Op, first, mem ir.Memory) string {
	switch {
	case op.Has(o, op.Loads):
		if mem == ir.Device {
			return "is in device memory already"
		}
	case op.Has(o, op.Joins|op.Completes):
		if mem != first {
			return "is in another memory than the first"
		}
	default:
		if mem != ir.Device {
			return "is in memory `" + mem.String() + "`, and has to be copied to the device first"
		}
	}
	return ""
}
