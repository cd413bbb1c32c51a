package verify

import (
	"fmt"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
)

// padding: kernels alone know of rows that are padded. So what one kernel writes for others may have such
// rows; collectives, subviews and the host find rows one behind the other. That a kernel and its
// caller agree, the check of calls says.
func (c *checker) padding(f *ir.Func) {
	may := map[*ir.Value]bool{}
	if f.Class == ir.Kernel {
		for _, a := range f.Args {
			may[a.Value] = true
		}
		for _, r := range f.Results {
			may[r.Value] = true
		}
	}
	refuse := func(v *ir.Value, what string) {
		c.add(codeType, diag.Pos{}, fmt.Sprintf("%%%d in @%s", v.ID, f.Name), fmt.Sprintf("%s is of type %s, which has padding", what, v.Type),
			"rows one behind the other, but between kernels", "")
	}
	check := func(v *ir.Value, ok bool, what string) {
		if v != nil && v.Type.Pad != 0 && (!ok || v.Type.Pad < 0 || v.Type.Rank() == 0) {
			refuse(v, what)
		}
	}
	for _, a := range f.Args {
		check(a.Value, may[a.Value], "an argument")
	}
	padded := func(v *ir.Value) bool { return v != nil && v.Type.Pad != 0 }
	for _, o := range f.Ops {
		if !slices.ContainsFunc(o.Args, padded) && !slices.ContainsFunc(o.Results, padded) {
			continue
		}
		calls := f.Class != ir.Kernel && o.Callee != nil && o.First == nil && !o.Start
		for _, v := range o.Args {
			check(v, calls || f.Class == ir.Kernel, "an operand of `"+o.Name+"`")
		}
		for _, v := range o.Results {
			check(v, calls || may[v], "a result of `"+o.Name+"`")
		}
	}
	for _, r := range f.Results {
		check(r.Value, f.Class == ir.Kernel, "a result of the function")
	}
}
