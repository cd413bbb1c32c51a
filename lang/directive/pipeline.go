package directive

import (
	"fmt"
	"slices"
	"sort"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/pipeline"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

func (y *Layout) pipeline(d *syntax.Pipeline) {
	y.single(d, "pipeline")
	mesh := y.meshNames([]*syntax.Ident{d.Over})
	blocks, ok := repeatedAt(y.in.Model, d.What.Parts)
	switch {
	case !ok && !y.selects(d.What):
		y.unknownPath(d.What)
	case !ok:
		want := "a repeated module, such as `blocks : Block[layers]`"
		if all := repeatedPaths(y.in.Model, ""); len(all) > 0 {
			want = diag.OneOf(all) + ", which repeats"
		}
		y.f.Wants("E0408", d.What, want, "", "`%s` does not repeat, so it cannot be split into stages", d.What)
	}
	schedule, micro, chunks := "1f1b", 1, 0
	var byHand syntax.Expr
	y.options(d.Options, map[string]func(syntax.Expr){
		"schedule": func(x syntax.Expr) {
			w, isWord := y.word(x)
			if names := pipeline.Names(); isWord && !slices.Contains(names, w) {
				y.f.Wants("E0410", x, diag.OneOf(names), diag.DidYouMean(w, names), "unknown schedule `%s`", w)
			}
			schedule = w
		},
		"microbatches": func(x syntax.Expr) {
			if n, ok := y.count(x, "E0407", "the number of microbatches", 1, source.MaxSize); ok {
				micro, y.micro = n, n
				y.checkMicrobatches(x, n)
			}
		},
		"chunks": func(x syntax.Expr) {
			if n, ok := y.count(x, "E0415", "the number of chunks of a stage", 1, source.MaxRepeat); ok {
				chunks = n
			}
		},
		"stages": func(x syntax.Expr) { byHand = x },
	})
	if row, err := pipeline.Lookup(schedule); err == nil {
		if chunks == 0 {
			chunks = row.Least
		}
		if chunks == 1 && row.Most > 1 {
			y.oneChunk[d] = schedule
		}
	}
	chunks = max(chunks, 1)
	var counts []int
	if ok && len(mesh) == 1 {
		stages := y.mod.MeshSize(d.Over.Name) * chunks
		switch {
		case stages > len(blocks):
			y.f.Wants("E0409", d, "at most one stage for each block", "", "%d stages of %d blocks", stages, len(blocks))
		case byHand != nil:
			counts = y.stages(byHand, stages, chunks, len(blocks))
		}
	}
	y.rule(d, &layout.Pipeline{Blocks: d.What.String(), Over: d.Over.Name, Schedule: schedule, Microbatches: micro, Chunks: chunks, Stages: counts})
}

// stages reads the blocks of each virtual stage: [2, 1, 3].
func (y *Layout) stages(x syntax.Expr, stages, chunks, blocks int) (out []int) {
	var xs []syntax.Expr
	switch x := x.(type) {
	case *syntax.List:
		xs = x.Elems
	case *syntax.Tuple:
		xs = x.Elems
	default:
		y.f.Wants("E0419", x, "a list with the blocks of each stage: `stages = [2, 1, 3]`", "", "`stages` is not a list")
		return nil
	}
	each := value.Count(stages, "stage")
	if chunks > 1 {
		each += ", " + value.Count(chunks, "chunk") + " of each of " + value.Count(stages/chunks, "device")
	}
	if len(xs) != stages {
		y.f.Wants("E0419", x, "one number for each of "+each, "", "`stages` has %s", value.Count(len(xs), "number"))
		return nil
	}
	sum := 0
	for i, e := range xs {
		n, ok := y.count(e, "E0419", "the number of blocks of stage "+value.FormatNumber(value.Whole(i)), 1, blocks)
		if !ok {
			return nil
		}
		out = append(out, n)
		sum += n
	}
	if sum != blocks {
		y.f.Wants("E0419", x, value.FormatNumber(value.Whole(blocks))+" in all", "", "the stages have %s, and there are %d", value.Count(sum, "block"), blocks)
	}
	return out
}

// checkMicrobatches checks that n microbatches divide the part of the batch that one
// device has.
func (y *Layout) checkMicrobatches(x syntax.Expr, n int) {
	axis, local, parts := y.localBatch()
	if local == 0 || local%n == 0 {
		return
	}
	y.f.Wants("E0407", x, "a divisor of "+value.FormatNumber(value.Whole(local)), "", "%s cannot be split into %d microbatches", ofBatch(axis, local, parts), n)
}

// checkAccumulate checks that `accumulate` divides what a device has of the batch, and
// that the microbatches of a pipeline divide each part.
func (y *Layout) checkAccumulate() {
	if y.rounds == nil {
		return
	}
	axis, local, parts := y.localBatch()
	if local == 0 || local%max(1, y.micro) != 0 { // E0406 and E0407 say so
		return
	}
	times := y.times()
	if local%(times*max(1, y.micro)) == 0 {
		return
	}
	each := ""
	if y.micro > 1 {
		each = fmt.Sprintf(", each in the %d microbatches of the pipeline", y.micro)
	}
	most := local / max(1, y.micro)
	y.f.Wants("E0407", y.rounds.Value, "a divisor of "+value.FormatNumber(value.Whole(most)), "", "%s cannot be split into %d parts%s", ofBatch(axis, local, parts), times, each)
}

// times is what `accumulate` says, 1 where it says nothing.
func (y *Layout) times() int {
	if y.rounds == nil {
		return 1
	}
	c, _ := y.f.Number(y.rounds.Value)
	n, _ := c.Int()
	return max(1, n)
}

// ofBatch is what an error calls the part of the batch that one of so many devices has.
func ofBatch(axis ir.Axis, local, parts int) string {
	what := "`" + axis.Name + "` of " + value.FormatNumber(value.Whole(axis.Size))
	if parts > 1 {
		what += ", of which each device has " + value.FormatNumber(value.Whole(local)) + ","
	}
	return what
}

// localBatch is the axis of the batch, how much of it one device has, and how many
// devices share it. A local size of 0 says that a mistake in it was reported.
func (y *Layout) localBatch() (a ir.Axis, local, parts int) {
	if y.data == nil {
		return a, 0, 0
	}
	a, parts = y.data.Fields[0].Type.Axes[0], 1
	for _, d := range y.decl.Directives {
		s, ok := d.(*syntax.Shard)
		if !ok {
			continue
		}
		for _, id := range s.Axes {
			for _, m := range s.Over {
				if id.Name == a.Name && parts <= source.MaxDevices {
					parts *= max(1, y.mod.MeshSize(m.Name))
				}
			}
		}
	}
	if a.Size%parts != 0 {
		return a, 0, parts // E0406 says so
	}
	return a, a.Size / parts, parts
}

// repeatedPaths are the paths of the repeated modules in m, sorted.
func repeatedPaths(m *value.Instance, path string) (out []string) {
	for n, s := range m.Subs {
		switch s := s.(type) {
		case value.Instances:
			out = append(out, value.Join(path, n))
		case *value.Instance:
			out = append(out, repeatedPaths(s, value.Join(path, n))...)
		}
	}
	sort.Strings(out)
	return out
}
