package pipeline

import (
	"fmt"
	"sort"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/verify"
)

func init() {
	for _, l := range []ir.Level{ir.Local, ir.Fused, ir.Planned} {
		verify.AtLevel(l, "messages", Check)
	}
}

// Check proves that the programs of a pipeline's devices send and receive the
// same messages, and that no device waits for ever: it runs the messages alone.
func Check(m *ir.Module) diag.List {
	groups := map[string][]*ir.Func{}
	var names []string
	for _, f := range m.Funcs {
		of := f.Attrs.Text("of")
		if of == "" || !f.Attrs.Has("stage") {
			continue
		}
		if groups[of] == nil {
			names = append(names, of)
		}
		groups[of] = append(groups[of], f)
	}
	var bugs diag.List
	for _, of := range names {
		bugs = append(bugs, messages(of, groups[of])...)
	}
	return bugs
}

// messages runs the sends and receives of one set of programs, in which
// program i is of coordinate i.
func messages(of string, progs []*ir.Func) diag.List {
	next := make([]int, len(progs))
	sent := map[string]int{} // messages on their way, by channel
	bug := func(o *ir.Op, format string, args ...any) diag.List {
		e := &diag.Error{Code: "E0392", Msg: fmt.Sprintf("@%s: ", of) + fmt.Sprintf(format, args...)}
		if o != nil {
			e.Pos = o.Pos
		}
		return diag.List{e}
	}
	for {
		moved := false
		for d, f := range progs {
			for next[d] < len(f.Ops) {
				o := f.Ops[next[d]]
				peer, tag := int(o.Attrs.Int("peer", 0)), o.Attrs.Int("tag", 0)
				if (o.Name == "send" || o.Name == "recv") && (peer < 0 || peer >= len(progs) || peer == d) {
					return bug(o, "a message between stage %d and stage %d of %d", d, peer, len(progs))
				}
				if o.Name == "send" {
					sent[channel(d, peer, tag, o.Args[0].Type)]++
				}
				if o.Name == "recv" {
					c := channel(peer, d, tag, o.Result().Type)
					if sent[c] == 0 {
						break
					}
					sent[c]--
				}
				next[d]++
				moved = true
			}
		}
		if !moved {
			break
		}
	}
	var waits []string
	var at *ir.Op
	for d, f := range progs {
		if next[d] < len(f.Ops) {
			at = f.Ops[next[d]]
			waits = append(waits, fmt.Sprintf("stage %d waits for message %d of stage %d", d, at.Attrs.Int("tag", 0), at.Attrs.Int("peer", 0)))
		}
	}
	if len(waits) > 0 {
		return bug(at, "the stages wait for ever: %s", strings.Join(waits, "; "))
	}
	var lost []string
	for c, n := range sent {
		if n > 0 {
			lost = append(lost, c)
		}
	}
	if len(lost) > 0 {
		sort.Strings(lost)
		return bug(nil, "%s is sent and never received", lost[0])
	}
	return nil
}

func channel(from, to int, tag int64, t ir.Type) string {
	return fmt.Sprintf("message %d from stage %d to stage %d (%s)", tag, from, to, t)
}
