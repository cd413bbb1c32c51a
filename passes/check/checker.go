package check

import (
	"fmt"
	"maps"
	"math"
	"sort"
	"strings"
	"time"

	"ptc/ir"
	"ptc/ir/tensor"
)

// Tolerances, relative to the norm of a result.
const (
	// TolExact is for the same mathematics in float64: reordered sums.
	TolExact = 1e-9
	// TolRounded is for values rounded to bf16: 64 times its unit roundoff
	// 2^-9, since errors of a few units add up over the layers. It says that
	// the precision is usable, not that it is correct, which TolExact says.
	TolRounded = 64.0 / 512
	// TolEighth is for values rounded to floats of eight bits: four times the unit
	// roundoff 2^-3 of f8e5m2. A scale that is missing, or another operand, makes a
	// difference of 1 and more.
	TolEighth = 4.0 / 8
	// TolGradient is for a gradient against central differences.
	TolGradient = 1e-5
)

// Row is what was found about one pass.
type Row struct {
	Index    int    `json:"index"` // place in the table of passes
	Pass     string `json:"pass"`
	Compared int    `json:"compared"` // results compared
	// Diff is the largest relative difference; the largest float64 where a
	// result is not finite, which JSON cannot say.
	Diff  float64 `json:"diff"`
	Worst string  `json:"worst"` // where it is
	Tol   float64 `json:"tolerance"`
	// Kind is "exact" in float64, "rounded" with each value rounded to its
	// dtype, or "gradient" against central differences.
	Kind string `json:"kind"`
	OK   bool   `json:"ok"`
}

// Report is the rows in the order of the passes; autodiff and precision have
// several.
type Report struct {
	Rows []Row `json:"rows"`
	// NotFinite lists the results of the module as it came that hold a NaN or
	// an infinity, of which a comparison says little.
	NotFinite []string `json:"not_finite,omitempty"`
}

// First is the first row whose pass changed the result, or nil.
func (r *Report) First() *Row {
	for i := range r.Rows {
		if !r.Rows[i].OK {
			return &r.Rows[i]
		}
	}
	return nil
}

// Checker watches the passes over one module.
type Checker struct {
	Report Report
	// Budget is how many floating-point operations the check of gradients may
	// take before it moves parameters in groups instead of one by one.
	Budget int64

	seed    int64
	in      Inputs
	before  *ir.Module // opened
	body    string     // text of its functions
	exact   Outcome    // of before
	grads   bool       // before held a symbolic gradient
	lowered bool       // before computes in a dtype below float32
}

// New is a checker whose inputs are drawn with the seed.
func New(seed int64) *Checker { return &Checker{seed: seed, Budget: defaultBudget} }

// Hook executes m and compares it with the module of the call before. It is
// to be called with the module as it came, and after each pass. An error is a
// module that cannot be executed; a difference is in the report.
func (c *Checker) Hook(index int, name string, m *ir.Module, _ time.Duration) error {
	m = m.Unrolled()
	body := functions(m)
	if c.before != nil && body == c.body {
		c.add(index, name, "exact", TolExact, c.exact, c.exact)
		return nil
	}
	opened := Open(m)
	if opened == m {
		opened = m.Clone()
	}
	grads, lowered := symbolic(m), low(m)
	if c.before == nil {
		c.in = RandomInputs(opened, c.seed)
	} else {
		c.in.extend(opened, c.seed)
	}
	after, err := Execute(opened, c.in, true)
	if err != nil {
		return err
	}
	if c.before == nil {
		c.Report.NotFinite = notFinite(after)
	} else {
		if c.grads && !grads {
			if err := c.autodiff(index, name, after); err != nil {
				return err
			}
		}
		c.add(index, name, "exact", TolExact, c.exact, after)
		if lowered && !c.lowered {
			if err := c.rounded(index, name, opened); err != nil {
				return err
			}
		}
	}
	c.before, c.body, c.exact, c.grads, c.lowered = opened, body, after, grads, lowered
	return nil
}

// functions is the text of m's functions: a pass that leaves it as it is needs
// no execution.
func functions(m *ir.Module) string {
	var b strings.Builder
	for _, f := range m.Funcs {
		b.WriteString(ir.PrintFunc(f))
	}
	return b.String()
}

func (c *Checker) add(index int, name, kind string, tol float64, before, after Outcome) {
	where, diff := Difference(before, after)
	n := 0
	for _, r := range before {
		n += len(r)
	}
	c.Report.Rows = append(c.Report.Rows, Row{Index: index, Pass: name, Compared: n,
		Diff: math.Min(diff, math.MaxFloat64), Worst: where, Tol: tol, Kind: kind, OK: diff <= tol})
}

// rounded compares once more as the dtypes round. Optimizer states and what
// follows from them are not compared: a sign that rounding turned changes a
// whole update.
func (c *Checker) rounded(index int, name string, m *ir.Module) error {
	before, after, err := c.both(m)
	if err != nil {
		return err
	}
	for _, r := range before {
		for k := range r {
			if k.Role != ir.RoleLoss && k.Role != ir.RoleGrad {
				delete(r, k)
			}
		}
	}
	tol := TolRounded
	if has(m, ir.DType.IsScaled) {
		tol = TolEighth
	}
	c.add(index, name, "rounded", tol, before, after)
	return nil
}

// both executes the module before and m as the dtypes round. Where gradients
// overflow because of a scale of the loss, it halves the scale, as training does,
// until they do not or the scale is 1.
func (c *Checker) both(m *ir.Module) (before, after Outcome, err error) {
	in := maps.Clone(c.in)
	for {
		if before, err = Execute(c.before, in, false); err != nil {
			return nil, nil, err
		}
		if after, err = Execute(m, in, false); err != nil {
			return nil, nil, err
		}
		scale := in[lossScale]
		if scale == nil || scale.Data[0] <= 1 || !overflows(after) {
			return before, after, nil
		}
		half := scale.Clone()
		half.Data[0] /= 2
		in[lossScale] = half
	}
}

// lossScale is the state of pass scale.
var lossScale = Key{ir.RoleState, "loss_scale/scale"}

// overflows reports whether a gradient is not finite.
func overflows(out Outcome) bool {
	for _, r := range out {
		for k, x := range r {
			for _, v := range x.Data {
				if k.Role == ir.RoleGrad && v-v != 0 {
					return true
				}
			}
		}
	}
	return false
}

// autodiff checks the gradients in the outcome of the module after against
// differences of the loss in the module before, and then gives them to that
// module as inputs, so that everything behind them can be compared.
func (c *Checker) autodiff(index int, name string, after Outcome) error {
	for _, f := range c.before.Funcs {
		grads := map[string]*tensor.Tensor{}
		for k, g := range after[f.Name] {
			if k.Role == ir.RoleGrad {
				grads[k.Path] = g
			}
		}
		for _, a := range f.Args {
			if a.Role == roleOpened && grads[a.Path] == nil {
				return fmt.Errorf("check: the gradient of %s is not a result of @%s, so it cannot be compared", a.Path, f.Name)
			}
		}
		if len(grads) == 0 {
			continue
		}
		rows, err := gradients(c.before, f, c.in, grads, c.seed, c.Budget)
		if err != nil {
			return err
		}
		for _, r := range rows {
			r.Index, r.Pass = index, name
			c.Report.Rows = append(c.Report.Rows, r)
		}
		for path, g := range grads {
			if k := (Key{roleOpened, path}); c.in[k] != nil {
				c.in[k] = g
			}
		}
	}
	var err error
	c.exact, err = Execute(c.before, c.in, true)
	return err
}

// notFinite names the results with an element that is not a number.
func notFinite(out Outcome) []string {
	var bad []string
	for _, fn := range sortedNames(out) {
		for _, k := range sortedKeys(out[fn]) {
			for _, v := range out[fn][k].Data {
				if v-v != 0 {
					bad = append(bad, "@"+fn+" "+k.String())
					break
				}
			}
		}
	}
	return bad
}

// low reports whether any value has a float dtype below float32.
func low(m *ir.Module) bool { return has(m, ir.DType.IsNarrow) }

// has reports whether a dtype of which that holds is that of any value.
func has(m *ir.Module, holds func(ir.DType) bool) bool {
	for _, f := range m.Funcs {
		for _, o := range f.Ops {
			for _, v := range o.Results {
				if holds(v.Type.DType) {
					return true
				}
			}
		}
	}
	return false
}

func sortedNames[T any](m map[string]T) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
