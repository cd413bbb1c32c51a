package op_test

import (
	"fmt"
	"testing"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/op"
)

// meshes are the ways in which each factor is sharded: the last one cuts one
// axis by two mesh axes.
var meshes = [][]ir.MeshAxis{
	{{Name: "d", Size: 2}},
	{{Name: "d", Size: 4}},
	{{Name: "e", Size: 2}, {Name: "d", Size: 2}},
}

// TestShardedFactors shards every factor that a row allows to be sharded,
// evaluates on each device, joins the parts and compares with the whole.
func TestShardedFactors(t *testing.T) {
	tried := map[string]int{}
	cases(t, 40, alone, func(t *testing.T, d *op.Def, e op.Example) {
		m, f, o := single(t, d, e)
		whole := run(t, m, f, e.Args, eval.Options{Exact: true})
		for _, factor := range d.Shard(o).Factors {
			checkFactor(t, o, factor)
			if factor.Kind != op.PassThrough && factor.Kind != op.Reduce {
				continue
			}
			for _, mesh := range meshes {
				n := (&ir.Module{Mesh: mesh}).Devices()
				if factor.Size%n != 0 {
					continue
				}
				tried[d.Name]++
				local, g := localized(t, o, factor, mesh)
				for _, o := range g.Ops {
					if types, err := op.States(o); err != nil || !op.SameState(types[0], o.Results[0].Type) {
						t.Errorf("factor %+v over %v: the states %v (%v) follow, %s is right", factor, mesh, types, err, o.Results[0].Type)
					}
				}
				parts, err := eval.ShardArgs(local, g, e.Args)
				if err != nil {
					t.Fatal(err)
				}
				res, err := eval.Devices(local, g, parts, eval.Options{Exact: true})
				if err != nil {
					t.Fatal(err)
				}
				got, err := eval.AssembleResults(local, g, res)
				if err != nil {
					t.Fatal(err)
				}
				if diff, _ := eval.Worst(whole, got); diff > 1e-12 {
					t.Errorf("factor %+v over %v: relative difference %.3g", factor, mesh, diff)
				}
			}
		}
	})
	for _, d := range op.All() {
		if alone(d) && d.Name != "const" && d.Name != "coordinate" && d.Name != "enter_tick" && tried[d.Name] < 5 {
			t.Errorf("%s: only %d shardings were tried", d.Name, tried[d.Name])
		}
	}
}

// TestPositions holds that a shard is computed from where it lies only along axes of which
// the row says that it reads positions: along others, every device computes what the first
// one would of the same operands.
func TestPositions(t *testing.T) {
	reads := map[string]bool{}
	mesh := []ir.MeshAxis{{Name: "d", Size: 2}}
	cases(t, 40, alone, func(t *testing.T, d *op.Def, e op.Example) {
		_, _, o := single(t, d, e)
		for _, factor := range d.Shard(o).Factors {
			if factor.Kind != op.PassThrough && factor.Kind != op.Reduce || factor.Size%2 != 0 {
				continue
			}
			local, g := localized(t, o, factor, mesh)
			parts, err := eval.ShardArgs(local, g, e.Args)
			if err != nil {
				t.Fatal(err)
			}
			there, err := eval.Devices(local, g, parts, eval.Options{Exact: true})
			if err != nil {
				t.Fatal(err)
			}
			for i := range parts {
				here := run(t, &ir.Module{Name: "test", Funcs: local.Funcs}, g, parts[i], eval.Options{Exact: true})
				if diff, _ := eval.Worst(here, there[i]); diff > 0 {
					reads[d.Name] = true
					if !op.Placed(o, &factor) {
						t.Errorf("factor %+v: device %d computes something else than device 0", factor, i)
					}
				}
			}
		}
	})
	for _, d := range op.All() {
		if alone(d) && (d.Positions != nil) != reads[d.Name] {
			t.Errorf("%s: does its row name positions: %v; does it read them: %v", d.Name, d.Positions != nil, reads[d.Name])
		}
	}
}

// checkFactor holds the form of a factor.
func checkFactor(t *testing.T, o *ir.Op, f op.Factor) {
	if len(f.Args) != len(o.Args) || len(f.Results) != len(o.Results) {
		t.Fatalf("factor %+v of %d operands and %d results", f, len(o.Args), len(o.Results))
	}
	axes := func(names []string, vs []*ir.Value) {
		for i, n := range names {
			if n != "" && !vs[i].Type.Has(n) {
				t.Errorf("factor %+v names an axis that %s lacks", f, vs[i].Type)
			}
			if n != "" && f.Kind != op.Replicate && vs[i].Type.Size(n)%f.Size != 0 {
				t.Errorf("factor %+v has another size than in %s", f, vs[i].Type)
			}
		}
	}
	axes(f.Args, o.Args)
	axes(f.Results, o.Results)
	if (f.Reduction != "") != (f.Kind == op.Reduce) {
		t.Errorf("factor %+v: only reductions reduce", f)
	}
	if f.Kind == op.Exchange && op.Of(o).Class != op.Movement {
		t.Errorf("factor %+v: the verifier looks for these in movements", f)
	}
}

// TestEveryAxisHasAFactor holds that a rule speaks of each axis once.
func TestEveryAxisHasAFactor(t *testing.T) {
	cases(t, 40, every, func(t *testing.T, d *op.Def, e op.Example) {
		_, _, o := single(t, d, e)
		seen := map[string]int{}
		for _, f := range d.Shard(o).Factors {
			for i, n := range f.Args {
				seen[fmt.Sprint("operand ", i, " ", n)]++
			}
			for i, n := range f.Results {
				seen[fmt.Sprint("result ", i, " ", n)]++
			}
		}
		check := func(kind string, vs []*ir.Value) {
			for i, v := range vs {
				for _, a := range v.Type.Axes {
					if k := fmt.Sprint(kind, " ", i, " ", a.Name); seen[k] != 1 {
						t.Errorf("%s is in %d factors", k, seen[k])
					}
				}
			}
		}
		check("operand", o.Args)
		check("result", o.Results)
	})
}

// localized is the function of one device when the factor is sharded over the
// whole mesh.
func localized(t *testing.T, o *ir.Op, factor op.Factor, mesh []ir.MeshAxis) (*ir.Module, *ir.Func) {
	m := &ir.Module{Name: "test", Level: ir.Local, Mesh: mesh}
	f := &ir.Func{Name: "f"}
	m.Funcs = []*ir.Func{f}
	var names []string
	for _, a := range mesh {
		names = append(names, a.Name)
	}
	local := func(x ir.Type, axis string) ir.Type {
		c := x.Clone()
		if i := c.Index(axis); i >= 0 {
			c.Axes[i].Size /= m.Devices()
			c.Axes[i].Mesh = names
		}
		return c
	}
	b := &op.Builder{F: f}
	var args []*ir.Value
	var argTypes, types []ir.Type
	for i, a := range o.Args {
		x := local(a.Type, factor.Args[i])
		argTypes = append(argTypes, x)
		args = append(args, f.AddArg(x, ir.RoleData, fmt.Sprint("a", i), nil, b.Pos))
	}
	for i, r := range o.Results {
		x := local(r.Type, factor.Results[i])
		if factor.Kind == op.Reduce {
			for _, n := range names {
				x.Partial = append(x.Partial, ir.Partial{Mesh: n, Reduce: factor.Reduction})
			}
		}
		types = append(types, x)
	}
	attrs := op.Localize(o, types)
	// The row infers the local sizes from local operands and attributes.
	inferred, err := op.Infer(o.Name, argTypes, attrs)
	if err != nil {
		t.Fatalf("locally: %v", err)
	}
	for i, x := range inferred {
		want := plain(types[i], x)
		if op.Of(o).Class == op.Source { // their attributes hold the sharding
			want = types[i]
		}
		if !x.Equal(want) {
			t.Fatalf("locally inferred %s, want %s", x, types[i])
		}
	}
	l := f.NewOp(o.Name, args, attrs, types...)
	f.Ops = append(f.Ops, l)
	for _, r := range l.Results {
		f.Results = append(f.Results, ir.Result{Value: r, Role: ir.RoleOut})
	}
	return m, f
}

// plain is t with the shardings of like and owing nothing: what rows infer.
func plain(t, like ir.Type) ir.Type {
	c := t.Clone()
	c.Partial = nil
	for i := range c.Axes {
		if i < len(like.Axes) {
			c.Axes[i].Mesh = like.Axes[i].Mesh
		}
	}
	return c
}
