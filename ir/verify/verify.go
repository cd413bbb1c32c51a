package verify

import (
	"fmt"
	"sort"
	"strconv"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/excerpt"
)

// Codes of the diagnostics.
const (
	codeStructure = "E0310" // values, functions: defined once and before use
	codeName      = "E0311" // a name or constant that the text cannot hold
	codeRole      = "E0312" // role or path of an argument or result
	codeType      = "E0313" // a malformed type, or a mesh axis used wrongly
	codeRow       = "E0314" // an operation without a row
	codeInfer     = "E0315" // operands or attributes that the row refuses
	codeResult    = "E0316" // a result whose type is not the inferred one
	codeCall      = "E0317" // a call that its function does not take
	codeLevel     = "E0318" // what the module's level forbids
	codeState     = "E0319" // shardings or partial sums that do not follow from the operands
)

// maxErrors bounds the list: a broken pass breaks thousands of operations.
const maxErrors = 50

// Module lists what is wrong with m; nil if nothing is. Rows are asked only
// about operations whose values and types are sound, and the rules of the
// level run only if nothing else is wrong.
func Module(m *ir.Module) diag.List {
	c := &checker{m: m, funcs: map[string]*ir.Func{}}
	c.module()
	for _, f := range m.Funcs {
		c.function(f)
	}
	if len(c.errs) == 0 {
		for _, f := range m.Funcs {
			c.operations(f)
		}
		c.recursion()
	}
	if len(c.errs) == 0 {
		runs := Runs{}
		for _, r := range atLevel(m.Level) {
			c.errs = append(c.errs, r.check(m, runs)...)
		}
	}
	if len(c.errs) > maxErrors {
		c.errs = c.errs[:maxErrors]
	}
	return c.errs
}

type rule struct {
	level ir.Level
	name  string
	check func(m *ir.Module, runs Runs) diag.List
}

var rules []rule

// AtLevel adds a rule that every module at the level must keep; it is for
// init functions. The rule may rely on everything that the other checks hold,
// save the other rules. A second rule of one name and level is a bug.
func AtLevel(level ir.Level, name string, check func(m *ir.Module) diag.List) {
	AtLevelInRuns(level, name, func(m *ir.Module, _ Runs) diag.List { return check(m) })
}

// AtLevelInRuns adds a rule as [AtLevel] does, which goes through what functions run.
func AtLevelInRuns(level ir.Level, name string, check func(m *ir.Module, runs Runs) diag.List) {
	for _, r := range rules {
		if r.level == level && r.name == name {
			panic(fmt.Sprintf("verify: rule %q at %s registered twice", name, level))
		}
	}
	rules = append(rules, rule{level, name, check})
}

// Runs are excerpts of functions with every instance and microbatch written out, for rules
// that go through them and change nothing: they are made once for all rules.
type Runs map[*ir.Func]excerpt.Excerpt

// Of is that of f.
func (r Runs) Of(f *ir.Func) excerpt.Excerpt {
	x, made := r[f]
	if !made {
		x = excerpt.Of(f)
		if len(x.F.Stacks) > 0 || len(x.F.Tasks) > 0 {
			x.F = x.F.Unrolled()
		}
		r[f] = x
	}
	return x
}

// atLevel is the rules of the level by name, so that their order does not
// depend on the order in which packages are initialized.
func atLevel(level ir.Level) []rule {
	var out []rule
	for _, r := range rules {
		if r.level == level {
			out = append(out, r)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out
}

// checker collects diagnostics.
type checker struct {
	m     *ir.Module
	funcs map[string]*ir.Func
	errs  diag.List
	// coord is the argument of in that holds the device's coordinates.
	coord *ir.Arg
	in    *ir.Func
}

// add reports a mistake at a place; where tells what it is about.
func (c *checker) add(code string, pos diag.Pos, where, msg, want, hint string) {
	if len(c.errs) >= maxErrors {
		return
	}
	if where != "" {
		msg = where + ": " + msg
	}
	c.errs = append(c.errs, &diag.Error{Code: code, Pos: pos, Msg: msg, Want: want, Hint: hint})
}

// site is what a mistake is about: an operation, or an argument or result by its place, or the
// function itself. There is one for everything in a module, and a text for mistakes alone.
type site struct {
	f    *ir.Func
	o    *ir.Op
	kind string
	n    int
}

func argument(f *ir.Func, i int) site { return site{f: f, kind: "argument", n: i + 1} }
func result(f *ir.Func, i int) site   { return site{f: f, kind: "result", n: i + 1} }

func (s site) String() string {
	switch {
	case s.o != nil:
		return at(s.f, s.o)
	case s.kind != "":
		return fmt.Sprintf("%s %d of @%s", s.kind, s.n, s.f.Name)
	}
	return "func @" + s.f.Name
}

// at names an operation: "%12 = dot in @step".
func at(f *ir.Func, o *ir.Op) string {
	s := ""
	for i, r := range o.Results {
		if i > 0 {
			s += ", "
		}
		if r == nil {
			s += "%?"
		} else {
			s += "%" + strconv.Itoa(r.ID)
		}
		if i == 2 && len(o.Results) > 4 {
			s += ", …"
			break
		}
	}
	if s == "" {
		s = "_"
	}
	return s + " = " + o.Name + " in @" + f.Name
}
