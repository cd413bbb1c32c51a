package main

import (
	"fmt"
	"slices"
	"strings"

	"ptc/bench/recipes"
	"ptc/foresight/facts"
	"ptc/ir/auto"
)

// row is a recipe on a machine.
type row struct {
	*recipes.Recipe
	machine string
}

// elsewhere are recipes for machines that ptc does not describe, or whose publication has another size or layout.
var elsewhere = []string{"PaLM", "GPT-2 124M", "1,048,576 positions", "zero bubble", "OPT", "f16 in parts", "eight bits"}

// rows are the recipes with a machine, in the order of their table.
func rows() (out []row) {
	for _, table := range [][]recipes.Recipe{recipes.Table, recipes.Bridge} {
		for i := range table {
			r := &table[i]
			if r.Devices() < 8 || slices.ContainsFunc(elsewhere, func(x string) bool { return strings.Contains(r.Name, x) }) {
				continue
			}
			out = append(out, row{r, machineOf(r)})
		}
	}
	return out
}

// machineOf is the machine of a publication, by its year: those before 2023 had A100s. GPT-NeoX had A100s of 40 GB, which is the
// limit of its row. DeepSeek-V3 had H800s, which are H100s with slower links.
func machineOf(r *recipes.Recipe) string {
	if r.Model == "gpt.ptl" {
		return "a100_80"
	}
	return "h100"
}

// file is the name of the source.
func (r *row) file() string { return r.Model }

// kept are the directives that every layout of the space has: the precision, and recomputation that is no choice of a dimension.
func (r *row) kept() (out []string) {
	out = append(out, r.Precision())
	if r.Recompute != "" && r.Recompute != "Block" {
		out = append(out, "recompute "+r.Recompute)
	}
	return out
}

// auto is the auto layout whose space has the published layout: the same devices, batch and precision, and the choices of each
// dimension with those of the publication.
func (r *row) auto() string {
	var b strings.Builder
	fmt.Fprintf(&b, "layout best auto {\n  mesh on %s : %d x 8\n", r.machine, r.Devices()/8)
	for _, k := range r.kept() {
		fmt.Fprintf(&b, "  keep %s\n", k)
	}
	zero := []string{"1"}
	if r.Zero != 1 {
		zero = append(zero, fmt.Sprint(r.Zero))
	}
	slices.Sort(zero)
	fmt.Fprintf(&b, "  allow zero in (%s)\n", strings.Join(zero, ", "))
	schedules := []string{"1f1b", "interleaved"}
	if r.Schedule != "" {
		schedules = append(schedules, r.Schedule)
	}
	fmt.Fprintf(&b, "  allow schedule in (%s)\n", strings.Join(schedules, ", "))
	if usual := []int{1, 2, 3, 4, 6, 8}; r.Chunks > 1 && (!slices.Contains(usual, r.Chunks) || r.Layers%(r.PP*r.Chunks) != 0) { // no usual choice of the space
		chunks := append(usual, r.Chunks)
		slices.Sort(chunks)
		chunks = slices.Compact(chunks)
		fmt.Fprintf(&b, "  allow chunks in (%s)\n", strings.ReplaceAll(strings.Trim(fmt.Sprint(chunks), "[]"), " ", ", "))
	}
	if r.CP > 1 && r.EP > 1 {
		b.WriteString("  allow placement in ((pp, dp, ep, cp, tp), (dp, pp, ep, cp, tp), (dp, pp, cp, ep, tp), (pp, dp, cp, ep, tp))\n")
	}
	if r.Most < 80 {
		fmt.Fprintf(&b, "  limit memory %g GiB\n", r.Most)
	}
	b.WriteString("  minimize step_time\n}\n")
	return b.String()
}

// placed are the orders of the mesh in which the published layout is tried: with the replicas outside of the pipeline, and inside
// of it. Publications seldom say which.
func (r *row) placed() (out []string) {
	text := strings.Replace(r.Layout(), fmt.Sprintf("  device memory = %g GiB\n", r.Most), "", 1)
	out = append(out, text)
	if r.DP > 1 && r.PP > 1 {
		dp, pp := fmt.Sprint("dp = ", r.DP), fmt.Sprint("pp = ", r.PP)
		out = append(out, strings.Replace(text, dp+", "+pp, pp+", "+dp, 1))
	}
	return out
}

// path is the published layout as a path in the tree of the space, with the replicas outside.
func (r *row) path(f *facts.Facts) string {
	size := func(n int) int { return max(n, 1) }
	rows := r.Batch / (size(r.DP) * size(r.EP) * size(r.Micro))
	var tensor, order []string
	if r.TP > 1 {
		named := []string{"heads", "ffn", "vocab"}
		if r.KV > 1 {
			named = append(named, "kv")
		}
		at := func(a string) int { // in the order of the space; an axis that it has not is last
			if i := slices.Index(f.Tensor, a); i >= 0 {
				return i
			}
			return len(f.Tensor)
		}
		slices.SortStableFunc(named, func(a, b string) int { return at(a) - at(b) })
		tensor = named
	}
	sizes := map[string]int{"dp": r.DP, "pp": r.PP, "cp": r.CP, "ep": r.EP, "tp": r.TP}
	for _, a := range auto.Mesh {
		if sizes[a] > 1 {
			order = append(order, a)
		}
	}
	sequence, recompute := "off", "none"
	if r.SP {
		sequence = "on"
	}
	if r.Recompute == "Block" {
		recompute = "full"
	}
	schedule, chunks := "", 1
	if r.PP > 1 {
		schedule, chunks = "1f1b", size(r.Chunks)
		if chunks > 1 {
			schedule = "interleaved"
		}
		if r.Schedule != "" {
			schedule = r.Schedule
		}
		if r.Schedule == "dualpipe_v" || r.Schedule == "zb_v" {
			chunks = 2
		}
	}
	return strings.Join([]string{fmt.Sprint(r.Devices()),
		fmt.Sprintf("dp%d pp%d cp%d ep%d tp%d", size(r.DP), size(r.PP), size(r.CP), size(r.EP), size(r.TP)), strings.Join(tensor, " "), sequence,
		fmt.Sprint(rows), recompute, fmt.Sprint(r.Zero), "none", fmt.Sprint(schedule, " ", chunks), "cut", strings.Join(order, " ")}, "/")
}
