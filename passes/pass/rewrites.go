package pass

import "ptc/ir"

// Rewrites numbers the rewrites of a compilation, which are the applications of rules without
// which a module is as correct, and allows the first Most of them. So a search finds the one that
// breaks a module (as LLVM's -opt-bisect-limit, and golang.org/x/tools/cmd/bisect). The
// numbers depend on the module alone: with a larger limit, the rewrites before it are the same.
type Rewrites struct {
	Most int    // how many are allowed
	Made int    // how many were made
	Last Remark // the last of them
}

// May reports whether the running pass may apply a rule to o (which may be nil), and counts the
// application if it may. A pass asks when nothing but the answer is missing.
func (c *Context) May(rule string, o *ir.Op) bool {
	r := c.Rewrites
	if r == nil {
		return true
	}
	if r.Made >= r.Most {
		return false
	}
	r.Made++
	if r.Last = c.remark(o, "%s", rule); o != nil {
		r.Last.Text += " `" + o.Name + "`"
	}
	return true
}

// Spent reports whether no rewrite is allowed any more. A pass that finds out whether a rule fits
// by applying it asks this before, and [Context.May] behind it.
func (c *Context) Spent() bool { return c.Rewrites != nil && c.Rewrites.Made >= c.Rewrites.Most }
