package launch

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	_ "ptc/lang/directive" // whose directives the grammar has
	"ptc/lang/syntax"
)

// Source is the run as a source: model, config, training and a layout of the given name. Notes
// are at its head.
func Source(r *Run, layout string, notes []Note) (string, error) {
	if what := r.lacks(); what != "" {
		return "", fmt.Errorf("the model has %s, which std.nn and std.decoder lack", what)
	}
	var b strings.Builder
	s, _ := Named(r.Software)
	fmt.Fprintf(&b, "// Translated from a configuration of %s for %s. Comments name the settings that lines\n// come from.\n", s.Title, count(r.Devices(), "device"))
	for _, n := range notes {
		b.WriteString(comment(n.String()))
	}
	f := familyOf(&r.Model)
	if f.name != "" {
		fmt.Fprintf(&b, "import std.models.%s\n", f.name)
	}
	b.WriteString("import std.nn\nimport std.optim\nimport std.data\n")
	if f.name == "" {
		b.WriteString("import std.decoder\n")
	}
	b.WriteString(r.config(f))
	if f.name == "" {
		b.WriteString("\n" + r.written())
	}
	b.WriteString(r.train(f))
	b.WriteString(r.layout(layout))
	out, errs := syntax.Format("model.ptl", []byte(b.String()))
	if len(errs) > 0 {
		return "", errs
	}
	return string(out), nil
}

// count is a number of things.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// comment is a text as lines of comments.
func comment(text string) string {
	var b strings.Builder
	column := 0
	for _, w := range strings.Fields(strings.Map(printable, text)) {
		if column > 0 && column+1+len(w) > 92 {
			b.WriteString("\n")
			column = 0
		}
		if column == 0 {
			b.WriteString("//")
			if b.Len() > 2 {
				b.WriteString("  ")
			}
			column = 2
		}
		b.WriteString(" " + w)
		column += 1 + len(w)
	}
	return b.String() + "\n"
}

// printable keeps a comment on its line.
func printable(c rune) rune {
	if c < ' ' || c == 0x7f || !strconv.IsPrint(c) {
		return ' '
	}
	return c
}

// said is the comment of a field at the end of a line.
func (r *Run) said(fields ...string) string {
	var out []string
	for _, f := range fields {
		if text := r.From[f]; text != "" {
			out = append(out, text)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "  // " + strings.Map(printable, strings.Join(out, " "))
}

// number is a float as the language has it.
func number(x float64) string {
	s := strconv.FormatFloat(x, 'g', -1, 64)
	if strings.Trim(s, "-0123456789") == "" {
		s += ".0"
	}
	if head, tail, ok := strings.Cut(s, "e"); ok {
		sign := ""
		if tail[0] == '-' {
			sign = "-"
		}
		s = head + "e" + sign + strings.TrimLeft(tail[1:], "0")
	}
	return s
}

// fraction is the shortest number of which the whole part of n times it is k.
func fraction(k, n int) float64 {
	x := float64(k) / float64(max(1, n))
	for digits := 1; digits <= 17; digits++ {
		for _, up := range []float64{0, math.Pow10(-digits)} {
			y, err := strconv.ParseFloat(strconv.FormatFloat(x+up, 'f', digits, 64), 64)
			if err == nil && y <= 1 && int(y*float64(n)) == k {
				return y
			}
		}
	}
	return x
}

// share is x / y with the noise of its last digits off.
func share(x, y float64) float64 {
	if y == 0 {
		return 0
	}
	for digits := 1; digits <= 16; digits++ {
		z, err := strconv.ParseFloat(strconv.FormatFloat(x/y, 'g', digits, 64), 64)
		if err == nil && rounded(z*y) == x {
			return z
		}
	}
	return x / y
}

// rounded is a product of settings without the noise of its last digits.
func rounded(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 15, 64), 64)
	if err != nil { // a number that was written is one
		return x
	}
	return y
}

// config is the block of the sizes and rates.
func (r *Run) config(f family) string {
	var b strings.Builder
	entry := func(name, value string, fields ...string) {
		fmt.Fprintf(&b, "  %s = %s%s\n", name, value, r.said(append([]string{name}, fields...)...))
	}
	n := strconv.Itoa
	b.WriteString("\nconfig {\n")
	entry("layers", n(r.Layers))
	entry("embed", n(r.Embed))
	entry("heads", n(r.Heads))
	entry("head", n(r.Head))
	entry("ffn", n(r.FFN))
	entry("vocab", n(r.Vocab))
	entry("eps", number(r.Eps))
	extra := map[string]string{"kv": n(r.KV), "base": number(r.Base), "context": n(r.Context), "tied": strconv.FormatBool(r.Tied), "window": n(r.Window),
		"factor": number(r.Stretch), "low": "1.0", "high": "4.0", "trained": "8192", "experts": n(r.Experts), "chosen": n(r.Chosen), "capacity": number(r.Capacity)}
	for name := range strings.FieldsSeq(f.entries) {
		if r.Stretch == 1 && (name == "low" || name == "high" || name == "trained") {
			continue // as the family has it
		}
		entry(name, extra[name])
	}
	b.WriteString("\n")
	entry("batch", n(r.Batch))
	entry("seq", n(r.Seq))
	entry("std", number(r.Std))
	b.WriteString("\n")
	entry("steps", n(r.Steps))
	entry("lr", number(r.LR), "optimizer")
	entry("floor", number(r.MinLR))
	entry("warmup", n(r.Warmup))
	if r.Decay != "constant" {
		entry("decay_steps", n(r.DecaySteps))
	}
	for _, e := range r.optimizer() {
		entry(e.name, number(e.value))
	}
	entry("decay", number(r.WeightDecay))
	entry("clip", number(r.Clip))
	b.WriteString("  corpus = \"corpus/*.bin\"  // files of tokens\n")
	if len(r.Kept) > 0 {
		fmt.Fprintf(&b, "\n  %s = %s  // settings without effect on the layout, for `ptc layout to %s`\n", keptEntry(r.Software), strconv.Quote(strings.Join(r.Kept, "\n")), r.Software)
	}
	b.WriteString("}\n")
	return b.String()
}

// keptEntry is the entry of the config that has what is written again for a software.
func keptEntry(software string) string { return identifier(software) + "_settings" }

// identifier is a name of a software as the language can have it.
func identifier(software string) string { return strings.ReplaceAll(software, "-", "_") }

// option is an argument of an optimizer, and its entry of the config.
type option struct {
	name, argument string
	value          float64
}

// optimizer are the options of the optimizer.
func (r *Run) optimizer() []option {
	switch r.Optimizer {
	case "SGD":
		return []option{{"momentum", "momentum", r.Momentum}}
	case "Lion":
		return []option{{"beta1", "beta1", r.Beta1}, {"beta2", "beta2", r.Beta2}}
	}
	return []option{{"beta1", "beta1", r.Beta1}, {"beta2", "beta2", r.Beta2}, {"adam_eps", "eps", r.AdamEps}}
}

// train is the block of training.
func (r *Run) train(f family) string {
	schedule := "lr"
	switch {
	case r.Decay != "constant":
		schedule = r.Decay + "(peak = lr, warmup = warmup, steps = decay_steps, floor = floor)"
	case r.Warmup > 0:
		schedule = "linear(peak = lr, warmup = warmup)"
	}
	args := "lr = " + schedule
	for _, o := range r.optimizer() {
		args += ", " + o.argument + " = " + o.name
	}
	args += ", weight_decay = decay"
	if r.Clip > 0 {
		args += ", clip = clip"
	}
	return fmt.Sprintf(`
train %s {
  loss      = nn.cross_entropy(%s(tokens), targets, over = vocab)
  optimizer = optim.%s(%s)
  data      = data.tokens(corpus, window = seq)
  steps     = steps
}
`, f.model, f.model, r.Optimizer, args)
}

// axis is an axis of the mesh.
type axis struct {
	name string
	size int
}

// mesh are the axes, the outermost first.
func (r *Run) mesh() (out []axis) {
	shards := "dp"
	if r.Replicas > 1 {
		shards = "fsdp"
	}
	all := []axis{{"pp", r.PP}, {"dp", r.Replicas}, {shards, r.Shards / r.EP}, {"ep", r.EP}, {"cp", r.CP}, {"tp", r.TP}}
	if r.Outer {
		all = slices.Concat(all[1:4], all[:1], all[4:])
	}
	for _, a := range all {
		if a.size > 1 {
			out = append(out, a)
		}
	}
	return out
}

// over are the axes of the mesh that are among some names, as a rule names them.
func (r *Run) over(names ...string) string {
	var out []string
	for _, a := range r.mesh() {
		for _, n := range names {
			if a.name == n {
				out = append(out, n)
			}
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	return "(" + strings.Join(out, ", ") + ")"
}

// layout is the block of the layout.
func (r *Run) layout(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nlayout %s {\n", identifier(name))
	rule := func(text string, fields ...string) { b.WriteString("  " + text + r.said(fields...) + "\n") }
	var axes []string
	for _, a := range r.mesh() {
		axes = append(axes, fmt.Sprintf("%s = %d", a.name, a.size))
	}
	if len(axes) > 0 {
		rule("mesh "+strings.Join(axes, ", "), "mesh")
	}
	if r.DP() > 1 {
		rule("shard batch over "+r.over("dp", "fsdp", "ep"), "replicas")
	}
	if r.TP > 1 {
		rule("shard "+r.sharded()+" over tp", "tp")
	}
	if r.CP > 1 {
		attention := "gather"
		if r.Ring {
			attention = "ring"
		}
		order := ""
		if r.Zigzag {
			order = "  order = zigzag"
		}
		rule(fmt.Sprintf("shard seq over cp { attention = %s%s }", attention, order), "cp")
	}
	if r.Sequence {
		rule("shard seq over "+r.over("cp", "tp")+" between Block", "sequence")
	}
	if r.EP > 1 {
		rule("shard experts over ep", "ep")
	}
	r.microbatches(rule)
	if r.Zero > 0 {
		shards := "dp"
		if r.Replicas > 1 {
			shards = "fsdp"
		}
		rule(fmt.Sprintf("zero %d over %s", r.Zero, r.over(shards, "ep", "cp")), "zero")
	}
	switch {
	case r.Recompute == "full":
		rule("recompute Block", "recompute")
	case r.Recompute == "mlp" && r.Experts > 0:
		rule("recompute blocks.*.moe", "recompute")
	case r.Recompute == "mlp":
		rule("recompute blocks.*.mlp", "recompute")
	}
	if len(r.Offload) > 0 {
		rule("offload "+strings.Join(r.Offload, ", ")+" to host", "offload")
	}
	if text := r.precision(); text != "" {
		rule(text, "precision")
	}
	b.WriteString("}\n")
	return b.String()
}

// sharded are the axes that tensor parallelism shards.
func (r *Run) sharded() string {
	if f := familyOf(&r.Model); strings.Contains(" "+f.entries+" ", " kv ") {
		return "heads, kv, ffn, vocab"
	}
	return "heads, ffn, vocab"
}

// microbatches are the rules of the pipeline and of accumulation.
func (r *Run) microbatches(rule func(text string, fields ...string)) {
	n := r.Microbatches()
	if r.PP == 1 {
		if n > 1 {
			rule(fmt.Sprintf("accumulate = %d", n), "batch", "micro")
		}
		return
	}
	options := "schedule = " + r.Schedule
	if r.Chunks > 1 {
		options += fmt.Sprintf("  chunks = %d", r.Chunks)
	}
	options += fmt.Sprintf("  microbatches = %d", n/r.Rounds)
	if len(r.Stages) > 0 {
		options += fmt.Sprintf("  stages = [%s]", strings.Trim(strings.ReplaceAll(fmt.Sprint(r.Stages), " ", ", "), "[]"))
	}
	if r.Rounds > 1 {
		rule(fmt.Sprintf("accumulate = %d", r.Rounds), "rounds")
	}
	rule("pipeline blocks over pp { "+options+" }", "pp", "chunks", "stages", "micro")
}

// precision is the rule of the dtypes; empty where everything is f32.
func (r *Run) precision() string {
	var out []string
	for _, x := range []struct{ name, value string }{{"compute", r.Compute}, {"params", r.Params}, {"reduce", r.Reduce}} {
		if x.value != "f32" {
			out = append(out, x.name+" = "+x.value)
		}
	}
	if r.Products != "" {
		out = append(out, "products = "+r.Products)
	}
	if r.Compute == "f16" && r.Scale > 0 {
		out = append(out, "loss_scale = "+number(r.Scale))
	}
	if len(out) == 0 {
		return ""
	}
	return "precision { " + strings.Join(out, "  ") + " }"
}
