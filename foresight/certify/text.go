package certify

import (
	"fmt"
	"slices"
	"strings"

	"ptc/ir/auto"
)

// microbatches is how many a step of a part has.
func (s *space) microbatches(p *part) int { return s.Rows / (p.size[dp] * p.size[ep] * p.rows) }

// text is a layout as a source has it, with so many blocks on each stage of its pipeline; nil is the compiler's choice. It has, in
// this order: the mesh, what is kept, the axes that are sharded, the pipeline or accumulation, zero, recomputation, offload.
func (s *space) text(p *part, stages []int) string {
	lines := append([]string{s.meshText(p)}, s.shards(p)...)
	if m := s.microbatches(p); !s.divided() {
		switch {
		case p.size[pp] > 1:
			lines = append(lines, s.pipelineText(p, m, stages))
		case m > 1:
			lines = append(lines, fmt.Sprint("accumulate = ", m))
		}
	}
	if p.zero > 0 {
		lines = append(lines, fmt.Sprintf("zero %d over %s", p.zero, over(p, dp, ep, cp)))
	}
	switch p.recompute {
	case "full":
		lines = append(lines, "recompute "+s.Module)
	case "auto":
		lines = append(lines, fmt.Sprint("device memory = ", room(s.cluster, s.auto)), "recompute auto")
	}
	if p.offload != "none" {
		lines = append(lines, "offload "+p.offload+" to host")
	}
	lines = slices.DeleteFunc(lines, func(x string) bool { return x == "" })
	return "layout " + s.auto.Name + " {\n" + strings.Join(lines, "\n") + "\n}\n"
}

// meshText is the mesh: axes of one device that a kept directive names, then those with several in their order.
func (s *space) meshText(p *part) string {
	var sizes []string
	for a, name := range auto.Mesh {
		named := slices.ContainsFunc(s.auto.Keep, func(k auto.Kept) bool { return slices.Contains(k.Mesh, name) })
		if named && p.size[a] == 1 {
			sizes = append(sizes, name+" = 1")
		}
	}
	for _, a := range p.order {
		sizes = append(sizes, fmt.Sprintf("%s = %d", auto.Mesh[a], p.size[a]))
	}
	if len(sizes) == 0 {
		return ""
	}
	return "mesh " + strings.Join(sizes, ", ")
}

// shards are what is kept, and the axes that are sharded where what is kept does not name them.
func (s *space) shards(p *part) (lines []string) {
	for _, k := range s.auto.Keep {
		lines = append(lines, k.Text)
	}
	shard := func(axis, over string) {
		if over != "" && !s.kept("shard", axis) {
			lines = append(lines, "shard "+axis+" over "+over)
		}
	}
	shard(s.Batch, over(p, dp, ep))
	ring := over(p, cp)
	if ring != "" && s.Positions%(2*p.size[cp]) == 0 { // all devices have the same work under a causal mask
		ring += " { attention = ring  order = zigzag }"
	}
	shard(s.Sequence, ring)
	shard(s.Experts, over(p, ep))
	var axes []string
	for _, a := range p.tensor {
		if !s.kept("shard", a) {
			axes = append(axes, a)
		}
	}
	if len(axes) > 0 {
		lines = append(lines, "shard "+strings.Join(axes, ", ")+" over tp")
	}
	if p.sequence {
		lines = append(lines, "shard "+s.Sequence+" over tp between "+s.Module)
	}
	return lines
}

// pipelineText is the pipeline of m microbatches. Stages of one block each need not be listed.
func (s *space) pipelineText(p *part, m int, stages []int) string {
	options := []string{"schedule = " + p.schedule, fmt.Sprint("microbatches = ", m)}
	if p.chunks > 1 {
		options = append(options, fmt.Sprint("chunks = ", p.chunks))
	}
	if slices.ContainsFunc(stages, func(n int) bool { return n > 1 }) {
		options = append(options, "stages = ["+strings.Trim(strings.ReplaceAll(fmt.Sprint(stages), " ", ", "), "[]")+"]")
	}
	return "pipeline " + s.Blocks + " over pp { " + strings.Join(options, "  ") + " }"
}

// over are those of some mesh axes with several devices, as they stand behind `over`; empty if there are none.
func over(p *part, axes ...int) string {
	var names []string
	for _, a := range axes {
		if p.size[a] > 1 {
			names = append(names, auto.Mesh[a])
		}
	}
	if len(names) > 1 {
		return "(" + strings.Join(names, ", ") + ")"
	}
	return strings.Join(names, "")
}
