package launch

import (
	"fmt"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/layout"
)

// axes reads which axes of the mesh are for what, from the rules that shard.
func (x *reader) axes() error {
	r := x.r
	tensor, context, expert := "", "", ""
	for _, s := range layout.All[*layout.Shard](x.l) {
		for _, a := range s.Over {
			x.used[a] = true
		}
		switch {
		case len(s.Of) > 0:
			return x.lacks(s, "a rule for some parameters")
		case len(s.Between) > 0:
			r.Sequence = slices.Contains(s.Axes, "seq")
			if !r.Sequence {
				return x.lacks(s, "a rule between blocks for another axis than seq")
			}
		case slices.Contains(s.Axes, "batch"):
			x.data = s.Over
			if i := slices.Index(s.Axes, "experts"); i >= 0 {
				expert = s.Over[len(s.Over)-1]
			}
		case slices.Contains(s.Axes, "experts") && len(s.Over) == 1:
			expert = s.Over[0]
		case slices.Contains(s.Axes, "seq") && len(s.Over) == 1:
			context = s.Over[0]
			r.Ring, r.Zigzag = s.Attention != "gather", s.Order == "zigzag"
		case len(s.Over) == 1 && (tensor == "" || tensor == s.Over[0]) && tensors(s.Axes):
			tensor = s.Over[0]
		default:
			return x.lacks(s, "this rule")
		}
	}
	size := func(name string) int { return max(1, x.m.MeshSize(name)) }
	r.TP, r.CP, r.EP = size(tensor), size(context), size(expert)
	if expert != "" && !slices.Contains(x.data, expert) {
		return fmt.Errorf("the experts are sharded over `%s`, and the batch is not: other software shards both over the same devices", expert)
	}
	r.Shards = x.m.Group(x.data)
	if len(x.data) == 0 {
		r.Shards = 1
	}
	return nil
}

// tensors reports whether all axes are those of tensor parallelism.
func tensors(axes []string) bool {
	return !slices.ContainsFunc(axes, func(a string) bool {
		return !slices.Contains([]string{"heads", "kv", "ffn", "vocab", "hidden"}, a)
	})
}

// lacks is the error for a rule that no other software has.
func (x *reader) lacks(r layout.Rule, what string) error {
	at := r.Where()
	if at != "" {
		at = " (" + at + ")"
	}
	return fmt.Errorf("%s of the layout `%s`%s has no counterpart in other software: leave it out of the layout that you translate", what, x.l.Name, at)
}

// rules reads all other rules.
func (x *reader) rules() error {
	r := x.r
	times := 1
	for _, rule := range x.l.Rules {
		switch s := rule.(type) {
		case *layout.Shard:
		case *layout.Pipeline:
			x.used[s.Over] = true
			r.Outer = outer(x.m, x.data, s.Over)
			r.PP, r.Schedule, r.Chunks, r.Stages = max(1, x.m.MeshSize(s.Over)), s.Schedule, max(1, s.Chunks), s.Stages
			times *= s.Microbatches
		case *layout.Accumulate:
			times *= s.Times
			r.Rounds = s.Times
		case *layout.Zero:
			if err := x.zero(s); err != nil {
				return err
			}
		case *layout.Recompute:
			if err := x.recompute(s); err != nil {
				return err
			}
		case *layout.Offload:
			if s.To != "host" || len(s.Of) > 0 {
				return x.lacks(s, "offloading of some modules, or to disk")
			}
			r.Offload = append(r.Offload, s.What...)
		case *layout.Device:
			x.notes = append(x.notes, Note{"device memory", "a limit of ptc's compiler alone"})
		case *layout.Overlap, *layout.Bucket, *layout.TwoLevel:
			x.notes = append(x.notes, Note{layout.Encode(rule).Head, "how ptc schedules collectives, which other software decides in its own way"})
		default:
			return x.lacks(rule, "`"+layout.Encode(rule).Head+"`")
		}
	}
	for _, a := range x.m.Mesh {
		if !x.used[a.Name] && a.Size > 1 {
			return fmt.Errorf("no rule of the layout `%s` uses the mesh axis `%s`, whose devices would do the same work", x.l.Name, a.Name)
		}
	}
	if r.Batch%(times*r.DP()) != 0 {
		return fmt.Errorf("%d microbatches on each of %d replicas do not divide the batch of %d", times, r.DP(), r.Batch)
	}
	r.Micro = r.Batch / (times * r.DP())
	return x.precision()
}

// outer reports whether the first axis that shards the batch is outside of that of stages.
func outer(m *ir.Module, data []string, stages string) bool {
	for _, a := range m.Mesh {
		if a.Name == stages || slices.Contains(data, a.Name) && a.Size > 1 {
			return a.Name != stages
		}
	}
	return false
}

// zero reads over which of the devices that share the batch training state is sharded.
func (x *reader) zero(s *layout.Zero) error {
	r := x.r
	r.Zero = s.Level
	shards := 1
	for _, a := range s.Over {
		x.used[a] = true
		if slices.Contains(x.data, a) {
			shards *= x.m.MeshSize(a)
		}
	}
	if shards < 1 || r.Shards%shards != 0 {
		return x.lacks(s, "`zero` over devices that do not share the batch")
	}
	r.Replicas, r.Shards = r.Shards/shards, shards
	return nil
}

func (x *reader) recompute(s *layout.Recompute) error {
	r := x.r
	switch of := strings.Join(s.Of, ", "); {
	case s.Auto():
		x.notes = append(x.notes, Note{"recompute auto", "what ptc's compiler chooses depends on its plan; full recomputation is written, the closest that always fits"})
		r.Recompute = "full"
	case len(s.Keep) > 0 && slices.Equal(s.Keep, []string{"attn"}):
		r.Recompute = "mlp"
	case len(s.Keep) > 0:
		return x.lacks(s, "`recompute` with these modules kept")
	case of == "blocks.*.mlp" || of == "blocks.*.moe":
		r.Recompute = "mlp"
	case x.l.Instances[of] != nil && len(s.Of) == 1 || of == "blocks.*":
		r.Recompute = "full"
	default:
		return x.lacks(s, "`recompute` of these modules")
	}
	return nil
}

func (x *reader) precision() error {
	p, err := layout.PrecisionOf(x.m)
	if err != nil {
		return err
	}
	if len(p.On) > 0 {
		return fmt.Errorf("products of eight bits in some modules alone have no counterpart in other software: leave `on` out")
	}
	x.r.Precision = Precision{Compute: p.Compute.String(), Params: p.Params.String(), Reduce: p.Reduce.String(), Products: p.Products, Scale: p.Scale.Static}
	if p.Params == ir.F32 && p.Compute == ir.F16 && p.Scale.Dynamic {
		x.r.Scale = 0
	}
	return nil
}
