package propagate

import (
	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/propagate/factor"
)

// whole is the policy of rows that are scattered: what a rule between modules has in shards is gathered before they
// are, rather than that each device scatters its own and all add up the result.
type whole struct {
	factor.Silent
	declined map[factor.Choice]bool
	about    map[int]bool
}

func (w *whole) Declines(o *ir.Op, m string) factor.Strength {
	if w.declined[factor.Choice{Value: o.Results[0].ID, Mesh: m}] {
		return factor.Kept // what is required is sharded
	}
	return factor.None
}

func (w *whole) Speaks(o *ir.Op) bool { return w.about[o.Results[0].ID] }

// values are those of choices, over whichever mesh axis.
func values(of map[factor.Choice]bool) map[int]bool {
	out := map[int]bool{}
	for c := range of {
		out[c.Value] = true
	}
	return out
}

// gatherScattered finds the operations that scatter rows of shards, where to gather what the rows are made of sends
// less than to reduce the result:
//
//	x seq@tp ──▶ · weight ──▶ a row for each choice ──▶ scatter ──▶ slots of all experts, partial(tp)
//	 T·embed                        k·T·embed                            E·C·embed
//
// These, and what makes the rows and nothing else reads, are not sharded by a rule between modules.
func gatherScattered(before *trial) maker {
	declined := map[factor.Choice]bool{}
	var uses map[*ir.Value]int
	var at map[*ir.Op]int
	for _, m := range before.flow.Mesh {
		for i, o := range before.ops {
			if o.Name == op.ScatterAdd && m.Size > 1 && factor.PartialSum(o.Results[0].Type, m.Name) && !factor.PartialSum(before.args[i][0].Type, m.Name) {
				if at == nil {
					uses, at = before.usesAndPlaces()
				}
				before.gatherFor(o, m, at, uses, declined)
			}
		}
	}
	if len(declined) == 0 {
		return nil
	}
	about := values(declined)
	return func(*trial) factor.Policy { return &whole{declined: declined, about: about} }
}

// usesAndPlaces are how often values were read, and where operations stood.
func (t *trial) usesAndPlaces() (uses map[*ir.Value]int, at map[*ir.Op]int) {
	uses, at = make(map[*ir.Value]int, len(t.ops)), make(map[*ir.Op]int, len(t.ops))
	for i, o := range t.ops {
		at[o] = i
		for _, v := range t.args[i] {
			uses[v]++
		}
	}
	return uses, at
}

// gatherFor adds to declined what is not sharded over m for o, which scatters, if that sends less.
func (t *trial) gatherFor(o *ir.Op, m ir.MeshAxis, at map[*ir.Op]int, uses map[*ir.Value]int, declined map[factor.Choice]bool) {
	var rows []*ir.Op // from o back to what is gathered
	gathered := map[*ir.Value]bool{}
	var back func(o *ir.Op)
	back = func(o *ir.Op) {
		rows = append(rows, o)
		for _, v := range t.args[at[o]] {
			switch {
			case !factor.Over(v.Type, m.Name):
			case uses[v] == 1 && v.Def != nil && (op.Of(v.Def).Class == op.Elementwise || op.Of(v.Def).Class == op.Movement):
				back(v.Def)
			default:
				gathered[t.flow.Moved(v)] = true
			}
		}
	}
	back(o)
	moved := int64(0)
	for v := range gathered {
		moved += t.l.mesh.Bytes(v.Type) * int64(m.Size)
	}
	if moved >= t.l.mesh.Bytes(o.Results[0].Type) {
		return
	}
	for _, r := range rows {
		declined[factor.Choice{Value: r.Results[0].ID, Mesh: m.Name}] = true
	}
}
