package check

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"ptc/ir"
	"ptc/ir/tensor"
)

// Tolerances, relative to the norm of a result.
const (
	// TolExact is for the same mathematics in float64: reordered sums.
	TolExact = 1e-9
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
	// Kind is "exact" in float64; "rounded" with each value rounded to its dtype,
	// against float64; or "gradient" against central differences.
	Kind string `json:"kind"`
	OK   bool   `json:"ok"`
}

// String says what is wrong with a row that is not OK.
func (r *Row) String() string {
	return fmt.Sprintf("pass `%s` changed the result: relative difference %.3g at %s, and %.3g is allowed (%s)", r.Pass, r.Diff, r.Worst, r.Tol, r.Kind)
}

// Report is the rows in the order of the passes; autodiff and precision have
// several.
type Report struct {
	Rows []Row `json:"rows"`
	// NotFinite lists the results of the module as it came that hold a NaN or
	// an infinity, of which a comparison says little.
	NotFinite []string `json:"not_finite,omitempty"`
	// Zero lists the gradients that are zero but for the rounding of float64, of
	// which a comparison says nothing: an error in what drops out drops out too.
	Zero []string `json:"zero,omitempty"`
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
	before  *ir.Module        // opened
	body    string            // text of its functions
	exact   Outcome           // of before
	grads   bool              // before held a symbolic gradient
	written map[ir.DType]bool // narrow floats of the module as it came
	spread  *spread           // of the module in which the dtypes were chosen, if any is narrow
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
	grads := symbolic(m)
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
		c.Report.NotFinite, c.written = notFinite(after), narrow(m)
	} else {
		if c.grads && !grads {
			if err := c.autodiff(index, name, after); err != nil {
				return err
			}
			c.Report.Zero = zero(after)
		}
		c.add(index, name, "exact", TolExact, c.exact, after)
		if err := c.rounded(index, name, opened, after); err != nil {
			return err
		}
	}
	c.before, c.body, c.exact, c.grads = opened, body, after, grads
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

// rounded compares once more as the dtypes round, if any is narrow: with float64, within
// the spread. A pass over a global module may choose other dtypes, which have a spread of
// their own; later ones are held to that of the last, to which devices add that of the parts
// of sums which they round.
func (c *Checker) rounded(index int, name string, m *ir.Module, exact Outcome) error {
	if len(narrow(m)) == 0 {
		return nil
	}
	got, err := c.round(m)
	if err != nil {
		return err
	}
	if c.spread == nil || m.Level <= ir.Global {
		if c.spread, err = newSpread(m, c.written); err != nil {
			return err
		}
	}
	row := Row{Index: index, Pass: name, Kind: "rounded"}
	if err := c.spread.explain(&row, c.in, exact, got); err != nil {
		return err
	}
	if !row.OK && m.Level >= ir.Local && m.Devices() > 1 {
		if err := c.spread.ofParts(m).explain(&row, c.in, exact, got); err != nil {
			return err
		}
	}
	c.Report.Rows = append(c.Report.Rows, row)
	return nil
}

// round executes m as the dtypes round. Where gradients overflow because of a scale of
// the loss, it halves the scale, as training does, until they do not or the scale is 1.
func (c *Checker) round(m *ir.Module) (Outcome, error) {
	in := maps.Clone(c.in)
	for {
		out, err := Execute(m, in, false)
		scale := in[lossScale]
		if err != nil || scale == nil || scale.Data[0] <= 1 || !overflows(out) {
			return out, err
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
			if slices.ContainsFunc(x.Data, func(v float64) bool { return k.Role == ir.RoleGrad && v-v != 0 }) {
				return true
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
	for _, fn := range slices.Sorted(maps.Keys(out)) {
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

// zero names the gradients that are nothing compared with the largest of their function.
func zero(out Outcome) (names []string) {
	for _, fn := range slices.Sorted(maps.Keys(out)) {
		most := 0.0
		for k, x := range out[fn] {
			if k.Role == ir.RoleGrad {
				most = math.Max(most, rms(x.Data))
			}
		}
		for _, k := range sortedKeys(out[fn]) {
			if k.Role == ir.RoleGrad && rms(out[fn][k].Data) <= TolExact*most {
				names = append(names, "@"+fn+" "+k.String())
			}
		}
	}
	return names
}

// narrow are the floats below float32 that values of m have.
func narrow(m *ir.Module) map[ir.DType]bool {
	out := map[ir.DType]bool{}
	for _, f := range m.Funcs {
		for _, a := range f.Args {
			out[a.Value.Type.DType] = true
		}
		for _, o := range f.Ops {
			for _, v := range o.Results {
				out[v.Type.DType] = true
			}
		}
	}
	maps.DeleteFunc(out, func(d ir.DType, _ bool) bool { return !d.IsNarrow() })
	return out
}
