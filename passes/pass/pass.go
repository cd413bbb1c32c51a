// Package pass is what every pass takes and gives: its context and remarks.
//
// It is apart from the table (package passes), which imports every pass.
// Imports ir, ir/fusion, ir/pipeline, ir/targetinfo.
package pass

import (
	"fmt"
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/pipeline"
	"ptc/ir/targetinfo"
)

// Func is a pass: it rewrites m in place. A returned error is the user's
// mistake (a diag.Error or List) or a limit of the machine; a bug panics.
type Func func(c *Context, m *ir.Module) error

// Context is what a pass knows besides the module.
type Context struct {
	// Pass is the name of the running pass.
	Pass string
	// Target describes where the plan will run.
	Target Target
	// Trial says that the module shows what a plan would take: that a device has less is no
	// error.
	Trial bool
	// Representatives asks for the programs of as few devices of a pipeline as stand for all, and Stands is what the pass
	// stage has found: nil where each device is compiled.
	Representatives bool
	Stands          *Stands
	// Schedules keeps the schedules of pipelines for the compilations of other layouts; it may be nil.
	Schedules *pipeline.Cache
	// Remarks collects decisions in order.
	Remarks []Remark
	// Why is the pass that also records what it did not do, and Reasons is what it recorded.
	Why     string
	Reasons []Remark
	// Rewrites limits what passes rewrite; nil allows everything.
	Rewrites *Rewrites
}

// Asked reports whether [Context.Because] records anything: what only it needs is not computed otherwise.
func (c *Context) Asked() bool { return c.Why != "" && c.Why == c.Pass }

// Because records why the running pass left o (which may be nil) as it was, if anybody asks.
func (c *Context) Because(o *ir.Op, format string, args ...any) {
	if !c.Asked() {
		return
	}
	if r := c.remark(o, format, args...); !slices.Contains(c.Reasons, r) {
		c.Reasons = append(c.Reasons, r)
	}
}

// Target is what passes may know of the backend.
type Target struct {
	targetinfo.Info
	// Attention says that kernels of class attention (ir/fusion) can be generated: whatever
	// is over the queries and keys of an attention is then never stored.
	Attention bool
	// Unfit is why the target cannot have a kernel of class attention, or empty; nil is a target that can have all.
	Unfit func(attention *fusion.Kernel) string
	// Join reports whether one kernel may hold a producer and its consumer, as the kernels of other software do; nil: what
	// pays decides.
	Join func(producer, consumer *ir.Op) bool
	// Parts is into how many parts the sums of a product are cut (passes/fuse); nil is
	// one, of every product.
	Parts func(product *fusion.Kernel) int64
}

// Use is what a plan takes of a device's own memory at the worst moment, in bytes: all that
// is there, and what @step has besides its arguments.
type Use struct{ All, Step int64 }

// Remark is one decision: what, where, and because of which source.
type Remark struct {
	Pass  string
	Pos   diag.Pos
	Scope string
	Text  string
	// Warning: the user should see it without asking, since the layout asked for something else.
	Warning bool
}

// String is the remark on one line: the pass, the scope and place if there are any, the text.
func (r Remark) String() string {
	where := r.Scope
	if r.Pos.IsValid() {
		where = strings.TrimSpace(where + " " + r.Pos.String())
	}
	if where == "" {
		return r.Pass + ": " + r.Text
	}
	return r.Pass + ": " + where + ": " + r.Text
}

// Remarkf records a decision about o (which may be nil).
func (c *Context) Remarkf(o *ir.Op, format string, args ...any) {
	c.Remarks = append(c.Remarks, c.remark(o, format, args...))
}

// remark is a remark of the running pass about o.
func (c *Context) remark(o *ir.Op, format string, args ...any) Remark {
	r := Remark{Pass: c.Pass, Text: fmt.Sprintf(format, args...)}
	if o != nil {
		r.Pos, r.Scope = o.Pos, o.Scope
	}
	return r
}

// Warnf records a decision about o (which may be nil) that the user should see: something
// that the layout asked for and that is not done.
func (c *Context) Warnf(o *ir.Op, format string, args ...any) {
	c.Remarkf(o, format, args...)
	c.Remarks[len(c.Remarks)-1].Warning = true
}
