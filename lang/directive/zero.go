package directive

import (
	"ptc/ir/layout"
	"ptc/lang/source"
	"ptc/lang/syntax"
)

// Zero is `zero 1 over dp`: which stage of state partitioning.
type Zero struct {
	line
	Stage   syntax.Expr     `parser:"'zero' @@"`
	Over    []*syntax.Ident `parser:"'over' ( '(' @@ ( ',' @@ )* ')' | @@ )"`
	Options *syntax.Options `parser:"@@?"`
}

var _ = define(Form{Word: "zero", Node: &Zero{}, Keys: []Key{{Name: "prefetch"}}})

// Names are the mesh axes over which state is partitioned.
func (d *Zero) Names() (axes, mesh []*syntax.Ident) { return nil, d.Over }

func (d *Zero) read(r *reading) {
	r.single(d, "zero")
	mesh := r.meshNames(d.Over)
	level, ok := r.count(d.Stage, "E0411", "the level of `zero`", 1, 3)
	l := &layout.Zero{Level: level, Over: mesh, Prefetch: layout.Unsaid}
	r.options(d.Options, map[string]func(syntax.Expr){"prefetch": func(x syntax.Expr) {
		n, good := r.count(x, "E0415", "the number of blocks to gather ahead", 0, layout.MaxPrefetch)
		if ok && level < 3 {
			r.f.Wants("E0415", x, "`zero 3`, which shards parameters and gathers them", "", "`zero %d` has nothing to prefetch", level)
		} else if o := excludes(r.decl, "all_gather"); good && n > 0 && o != nil {
			r.f.Report(source.Conflict("E0415", x, o.At(), "the directive", "`overlap all_gather`, or `prefetch = 0`", "",
				"gathers ahead of their use, where `overlap` lets none run concurrently with computation"))
		} else if good {
			l.Prefetch = n
		}
	}})
	if ok {
		r.add(d, d, l)
	}
}

// check reports zero over devices that all do the same work: they have
// nothing to add up, and a shard of the batch for each was probably forgotten.
func (d *Zero) check(c *checking) {
	used, batch := c.dividing(), "batch"
	if a, ok := c.model.batch(); ok {
		batch = a.Name
	}
	for _, id := range d.Over {
		if n := c.mod.MeshSize(id.Name); n > 1 && !used[id.Name] && c.free == nil {
			c.f.Wants("E0422", id, "a mesh axis over which something is sharded", "`shard "+batch+" over "+id.Name+"` shards the batch",
				"the %d devices of `%s` all do the same work", n, id.Name)
		}
	}
	if alone(c.mod, d.Over) {
		c.noEffect(d, "zero", "its mesh axes have one device")
	}
}
