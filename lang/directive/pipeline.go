package directive

import (
	"slices"

	"ptc/internal/diag"
	"ptc/ir/layout"
	"ptc/ir/pipeline"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Pipeline is `pipeline blocks over pp { options }`.
type Pipeline struct {
	line
	What    *syntax.Path    `parser:"'pipeline' @@"`
	Over    *syntax.Ident   `parser:"'over' @@"`
	Options *syntax.Options `parser:"@@?"`
}

var _ = define(Form{Word: "pipeline", Node: &Pipeline{},
	Keys: []Key{{Name: "schedule", Words: pipeline.Names()}, {Name: "microbatches"}, {Name: "chunks"}, {Name: "stages"}}})

// Names are the mesh axis of the stages.
func (d *Pipeline) Names() (axes, mesh []*syntax.Ident) { return nil, []*syntax.Ident{d.Over} }

func (d *Pipeline) read(r *reading) {
	r.single(d, "pipeline")
	mesh := r.meshNames([]*syntax.Ident{d.Over})
	blocks, ok := repeatedAt(r.model.made.Root, d.What.Parts)
	switch {
	case !ok && !r.model.selects(d.What):
		r.unknownPath(d.What)
	case !ok:
		want := "a repeated module, such as `blocks : Block[layers]`"
		if all := repeatedPaths(r.model.made.Root, ""); len(all) > 0 {
			want = diag.OneOf(all) + ", which repeats"
		}
		r.f.Wants("E0408", d.What, want, "", "`%s` does not repeat, so it cannot be split into stages", d.What)
	}
	schedule, micro, chunks := "1f1b", 1, 0
	var byHand syntax.Expr
	r.options(d.Options, map[string]func(syntax.Expr){
		"schedule": func(x syntax.Expr) {
			w, isWord := r.word(x)
			if names := pipeline.Names(); isWord && !slices.Contains(names, w) {
				r.f.Wants("E0410", x, diag.OneOf(names), diag.DidYouMean(w, names), "unknown schedule `%s`", w)
			}
			schedule = w
		},
		"microbatches": func(x syntax.Expr) {
			if n, ok := r.count(x, "E0407", "the number of microbatches", 1, source.MaxSize); ok {
				micro = n
				r.checkMicrobatches(x, n)
			}
		},
		"chunks": func(x syntax.Expr) {
			if n, ok := r.count(x, "E0415", "the number of chunks of a stage", 1, source.MaxRepeat); ok {
				chunks = n
			}
		},
		"stages": func(x syntax.Expr) { byHand = x },
	})
	if row, err := pipeline.Lookup(schedule); err == nil && chunks == 0 {
		chunks = row.Least
	}
	chunks = max(chunks, 1)
	var counts []int
	if ok && len(mesh) == 1 {
		stages := r.mod.MeshSize(d.Over.Name) * chunks
		switch {
		case byHand != nil && r.free[d.Over.Name]:
			r.f.Wants("E0419", byHand, "`allow "+d.Over.Name+" = 4`, or no `stages`", "", "`stages` is given by hand, and the number of stages is open")
		case stages > len(blocks):
			r.f.Wants("E0409", d, "at most one stage for each block", "", "%d stages of %d blocks", stages, len(blocks))
		case byHand != nil:
			counts = r.stages(byHand, stages, chunks, len(blocks))
		}
	}
	r.add(d, d, &layout.Pipeline{Blocks: d.What.String(), Over: d.Over.Name, Schedule: schedule, Microbatches: micro, Chunks: chunks, Stages: counts})
}

// stages reads the blocks of each virtual stage: [2, 1, 3].
func (r *reading) stages(x syntax.Expr, stages, chunks, blocks int) (out []int) {
	xs, ok := elems(x)
	if !ok {
		r.f.Wants("E0419", x, "a list with the blocks of each stage: `stages = [2, 1, 3]`", "", "`stages` is not a list")
		return nil
	}
	each := value.Count(stages, "stage")
	if chunks > 1 {
		each += ", " + value.Count(chunks, "chunk") + " of each of " + value.Count(stages/chunks, "device")
	}
	if len(xs) != stages {
		r.f.Wants("E0419", x, "one number for each of "+each, "", "`stages` has %s", value.Count(len(xs), "number"))
		return nil
	}
	sum := 0
	for i, e := range xs {
		n, ok := r.count(e, "E0419", "the number of blocks of stage "+value.FormatNumber(value.Whole(i)), 1, blocks)
		if !ok {
			return nil
		}
		out = append(out, n)
		sum += n
	}
	if sum != blocks {
		r.f.Wants("E0419", x, value.FormatNumber(value.Whole(blocks))+" in all", "", "the stages have %s, and there are %d", value.Count(sum, "block"), blocks)
	}
	return out
}

// checkMicrobatches checks that n microbatches divide the part of the batch that one
// device has.
func (r *reading) checkMicrobatches(x syntax.Expr, n int) {
	axis, local, parts := r.localBatch()
	if local == 0 || local%n == 0 {
		return
	}
	r.f.Wants("E0407", x, "a divisor of "+value.FormatNumber(value.Whole(local)), "", "%s cannot be split into %d microbatches", ofBatch(axis, local, parts), n)
}

// check reports rules over the mesh axis of the pipeline, whose devices have different
// parts of the model and no tensor in common to shard; and warns of options that a
// pipeline of one chunk or one device has no use for.
func (d *Pipeline) check(c *checking) {
	size := c.mod.MeshSize(d.Over.Name)
	for _, o := range c.decl.Directives {
		does := "shards"
		switch o.(type) {
		case *Shard, *Zero:
		case *Replicate:
			does = "replicates"
		default:
			continue
		}
		_, over := o.Names()
		for _, id := range over {
			if id.Name != d.Over.Name || size == 0 {
				continue
			}
			c.f.Report(source.Conflict("E0421", id, d.Over.At(), "the pipeline is over it here", "another mesh axis", "devices of a pipeline have different blocks: add one more axis to the mesh",
				"`%s` holds the stages of the pipeline, and this rule %s over it", id.Name, does))
		}
	}
	for _, r := range c.rules {
		if l, ok := r.Rule.(*layout.Pipeline); ok && r.node == d {
			d.warn(c, l, size)
		}
	}
}

// warn warns of what has no effect. Microbatches of one device accumulate gradients.
func (d *Pipeline) warn(c *checking, l *layout.Pipeline, devices int) {
	switch row, err := pipeline.Lookup(l.Schedule); {
	case devices > 1:
		if err == nil && l.Chunks == 1 && row.Most > 1 {
			c.noEffect(d, "schedule = "+l.Schedule, "with one chunk for each device there is nothing to interleave")
		}
	case devices == 1 && l.Microbatches <= 1:
		c.noEffect(d, "pipeline", "its mesh axis has one device, and the batch is one microbatch")
	case devices == 1 && d.Options != nil:
		for _, e := range d.Options.Entries {
			if e.Key.Name != "microbatches" {
				c.noEffect(e, e.Key.Name, "one device has all stages, and only `microbatches` counts")
			}
		}
	}
}
