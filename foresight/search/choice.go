package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ptc/foresight/facts"
	"ptc/foresight/machine"
	"ptc/ir/auto"
)

// Choice is a path in the tree of layouts: what is decided down to a branch. At a leaf, all is.
type Choice struct {
	Depth              int
	Devices            int
	DP, PP, CP, EP, TP int
	Tensor             []string // axes that are sharded over tp
	Sequence           bool     // activations between blocks are sharded over tp
	Rows               int      // of the batch, in a microbatch on a device
	Recompute          string
	Zero               int
	Offload            string
	Schedule           string // empty without a pipeline
	Chunks             int
	Stages             []int    // blocks of each stage; nil: the compiler's choice
	Order              []string // the mesh, outermost first
}

// size is the size of a mesh axis.
func (c *Choice) size(axis string) int {
	return map[string]int{"dp": c.DP, "pp": c.PP, "cp": c.CP, "ep": c.EP, "tp": c.TP}[axis]
}

// axes are those of some mesh axes that have more than one device.
func (c *Choice) axes(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(a string) bool { return c.size(a) < 2 })
}

// strides are how the ranks of a group over some mesh axes lie in a mesh of this order, outermost first.
func (c *Choice) strides(order, over []string) (out []machine.Axis) {
	stride := 1
	for i := len(order) - 1; i >= 0; i-- {
		if n := c.size(order[i]); slices.Contains(over, order[i]) {
			out = append(out, machine.Axis{Size: n, Stride: stride})
		}
		stride *= c.size(order[i])
	}
	slices.Reverse(out)
	return out
}

// microbatches is how many a step has.
func (c *Choice) microbatches(f *facts.Facts) int { return f.Rows / (c.DP * c.EP * c.Rows) }

// Path names the branches down to a choice, one word for each dimension.
func (c *Choice) Path() string {
	words := []string{
		strconv.Itoa(c.Devices),
		fmt.Sprintf("dp%d pp%d cp%d ep%d tp%d", c.DP, c.PP, c.CP, c.EP, c.TP),
		strings.Join(c.Tensor, " "),
		onOff(c.Sequence),
		strconv.Itoa(c.Rows),
		c.Recompute,
		strconv.Itoa(c.Zero),
		c.Offload,
		fmt.Sprintf("%s %d", c.Schedule, c.Chunks),
		"cut",
		strings.Join(c.Order, " "),
	}
	return strings.Join(words[:c.Depth], "/")
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Block is the layout as the text of a block of a source.
func (c *Choice) Block(name string, s *Space) string {
	f := s.Facts
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, "  "+format+"\n", args...) }
	fmt.Fprintf(&out, "layout %s {\n", name)
	var sizes []string
	for _, a := range auto.Mesh { // that a kept directive names, with one device
		if c.size(a) == 1 && s.keptOver(a) {
			sizes = append(sizes, a+" = 1")
		}
	}
	for _, a := range c.Order {
		sizes = append(sizes, fmt.Sprintf("%s = %d", a, c.size(a)))
	}
	if len(sizes) > 0 {
		line("mesh %s", strings.Join(sizes, ", "))
	}
	for _, k := range s.Auto.Keep {
		line("%s", strings.ReplaceAll(k.Text, "\n", "\n  "))
	}
	if over := c.axes("dp", "ep"); len(over) > 0 && !s.keeps("shard", f.Batch) {
		line("shard %s over %s", f.Batch, list(over))
	}
	if c.CP > 1 && !s.keeps("shard", f.Sequence) {
		line("shard %s over cp%s", f.Sequence, c.ring(f))
	}
	if c.EP > 1 && !s.keeps("shard", f.Experts) {
		line("shard %s over ep", f.Experts)
	}
	if tensor := slices.DeleteFunc(slices.Clone(c.Tensor), func(a string) bool { return s.keeps("shard", a) }); c.TP > 1 && len(tensor) > 0 {
		line("shard %s over tp", strings.Join(tensor, ", "))
	}
	if c.Sequence {
		line("shard %s over tp between %s", f.Sequence, f.Module)
	}
	m := c.microbatches(f)
	switch {
	case s.fixed():
	case c.PP > 1:
		line("pipeline %s over pp { %s }", f.Blocks, strings.Join(c.schedule(m), "  "))
	case m > 1:
		line("accumulate = %d", m)
	}
	if c.Zero > 0 {
		line("zero %d over %s", c.Zero, list(c.axes("dp", "ep", "cp")))
	}
	switch c.Recompute {
	case "full":
		line("recompute %s", f.Module)
	case "auto":
		line("device memory = %d", s.memory)
		line("recompute auto")
	}
	switch c.Offload {
	case "optimizer", "activations":
		line("offload %s to host", c.Offload)
	}
	out.WriteString("}\n")
	return out.String()
}

// ring is how a sequence is divided: in zig-zag order, in which all devices have the same work under a causal mask, where its size
// divides by twice the devices.
func (c *Choice) ring(f *facts.Facts) string {
	if f.Positions%(2*c.CP) != 0 {
		return ""
	}
	return " { attention = ring  order = zigzag }"
}

// schedule is the options of the pipeline.
func (c *Choice) schedule(m int) []string {
	out := []string{"schedule = " + c.Schedule, fmt.Sprintf("microbatches = %d", m)}
	if c.Chunks > 1 {
		out = append(out, fmt.Sprintf("chunks = %d", c.Chunks))
	}
	if c.Stages != nil && slices.Max(c.Stages) > 1 {
		out = append(out, "stages = "+strings.ReplaceAll(fmt.Sprint(c.Stages), " ", ", "))
	}
	return out
}

// list is some mesh axes behind `over`.
func list(axes []string) string {
	if len(axes) == 1 {
		return axes[0]
	}
	return "(" + strings.Join(axes, ", ") + ")"
}
