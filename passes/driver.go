package passes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/verify"
	"ptc/passes/pass"
	"ptc/passes/validate"
)

// Options say which passes [Run] runs and who watches.
type Options struct {
	// Only names the passes to run, in this order; empty means those of the
	// table that are enabled.
	Only []string
	// Stop is the last pass to run; empty means the last of the table.
	Stop string
	// Without are passes to leave out, none of which is required.
	Without []string
	// NoOptimize leaves out passes that change no level and are not required.
	NoOptimize bool
	// VerifyEach verifies the module before the first and after every pass.
	VerifyEach bool
	// Hooks are called in turn with the module as it came, as index 0 and
	// name "lower", and after each pass. They must not change the module; an
	// error ends the run.
	Hooks []Hook
	// Blind says that hooks do not look at modules: of passes whose work is done already, as a
	// plan was tried, they are told with the module behind the last of them.
	Blind bool
	// Unproved leaves out the proof that passes keep all values: what they make is not to be run.
	Unproved bool
}

// Hook sees a module after a pass. index is the place of the pass in [Table],
// from 1, whatever subset runs.
type Hook func(index int, name string, m *ir.Module, took time.Duration) error

// Source is the name under which hooks see the module as it came.
const Source = "lower"

// Broken is a module that a pass left invalid: a bug of ours.
type Broken struct {
	Pass string
	Err  error
}

func (e *Broken) Error() string {
	return fmt.Sprintf("pass %s left an invalid module: %v", e.Pass, e.Err)
}
func (e *Broken) Unwrap() error { return e.Err }

// Run runs passes over m in place and collects their remarks in c. Errors are
// diagnostics for the user (unknown pass, wrong level, what a pass refuses),
// a *Broken for a bug found by verification, or a hook's.
func Run(c *pass.Context, m *ir.Module, o *Options) error {
	if o == nil {
		o = &Options{}
	}
	list, err := choose(o)
	if err != nil {
		return err
	}
	if o.VerifyEach {
		if err := verify.Module(m); err != nil {
			return err
		}
	}
	if err := tell(o, 0, Source, m, 0); err != nil {
		return err
	}
	v := &validation{table: validate.New()}
	at := slices.IndexFunc(list, func(p *Pass) bool { return p.Name == "split-stacks" })
	if at < 0 {
		return through(c, m, list, o, v)
	}
	if err := through(c, m, list[:at], o, v); err != nil {
		return err
	}
	s, err := settle(c, m, list[at:], o)
	if err != nil {
		return err
	}
	if s.done != nil {
		v = s.done.v
		if err := s.done.become(c, m, o); err != nil {
			return err
		}
	}
	return noted(through(c, m, s.list, o, v), s.note)
}

// through runs the passes of list over m; v proves those that keep all values.
func through(c *pass.Context, m *ir.Module, list []*Pass, o *Options, v *validation) error {
	for i, p := range list {
		if c.Pass = p.Name; !p.Required && !c.May("the pass", nil) {
			continue
		}
		if !o.Unproved {
			if err := v.before(m, p); err != nil {
				return err
			}
		}
		if err := step(c, m, p, o); err != nil {
			return err
		}
		if o.Unproved {
			continue
		}
		if o.VerifyEach || i+1 == len(list) || !p.Keeps || !list[i+1].Keeps {
			if err := v.after(m, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// validation holds the numbers of the results as they were before the passes
// that keep them.
type validation struct {
	table *validate.Table
	last  *validate.Numbered
}

// before numbers what p is to keep, if no pass before it left numbers.
func (v *validation) before(m *ir.Module, p *Pass) (err error) {
	if p.Keeps && v.last == nil && m.Level == p.In {
		v.last, err = v.table.Module(m)
	}
	return err
}

// after compares what p, and those before it, left.
func (v *validation) after(m *ir.Module, p *Pass) error {
	if !p.Keeps {
		v.last = nil
		return nil
	}
	now, err := v.table.Module(m)
	if err == nil {
		err = v.table.Same(v.last, now)
	}
	if err != nil {
		return &Broken{p.Name, err}
	}
	v.last = now
	return nil
}

func step(c *pass.Context, m *ir.Module, p *Pass, o *Options) error {
	if m.Level != p.In {
		return levelError(p, m.Level)
	}
	c.Pass = p.Name
	start := time.Now()
	if err := p.Run(c, m); err != nil {
		return err
	}
	took := time.Since(start)
	if m.Level != p.Out {
		return &Broken{p.Name, fmt.Errorf("the module is at level %s, not %s", m.Level, p.Out)}
	}
	if o.VerifyEach {
		if err := verify.Module(m); err != nil {
			return &Broken{p.Name, err}
		}
	}
	return tell(o, Index(p.Name), p.Name, m, took)
}

func tell(o *Options, index int, name string, m *ir.Module, took time.Duration) error {
	for _, h := range o.Hooks {
		if err := h(index, name, m, took); err != nil {
			return err
		}
	}
	return nil
}

// choose lists the passes to run.
func choose(o *Options) ([]*Pass, error) {
	var list []*Pass
	for _, name := range o.Without {
		switch i := Index(name); {
		case i < 0:
			return nil, unknown(name)
		case Table[i-1].Required:
			return nil, &diag.Error{Code: "E0602", Msg: fmt.Sprintf("pass `%s` is required, and cannot be left out", name), Want: "a pass that only makes the plan better"}
		}
	}
	if len(o.Only) > 0 {
		for _, name := range o.Only {
			i := Index(name)
			if i < 0 {
				return nil, unknown(name)
			}
			list = append(list, &Table[i-1])
		}
	} else {
		for i := range Table {
			p := &Table[i]
			if (p.Enabled == nil || p.Enabled(o) || p.Name == o.Stop) && !slices.Contains(o.Without, p.Name) {
				list = append(list, p)
			}
		}
	}
	if o.Stop == "" {
		return list, nil
	}
	if Index(o.Stop) < 0 {
		return nil, unknown(o.Stop)
	}
	for i, p := range list {
		if p.Name == o.Stop {
			return list[:i+1], nil
		}
	}
	return nil, &diag.Error{Code: "E0602", Msg: fmt.Sprintf("pass `%s` is not among those to run", o.Stop),
		Want: diag.OneOf(o.Only)}
}

// InOrder says whether names are all passes of the table from the first one of a level on, in its order, but for
// those that run only where an option asks for them.
func InOrder(names []string) bool {
	if len(names) == 0 {
		return true
	}
	at := Index(names[0]) - 1
	if at < 0 || at > 0 && Table[at-1].Out == Table[at].In && Table[at-1].In == Table[at].In {
		return false
	}
	for _, name := range names {
		for at < len(Table) && Table[at].Name != name && Table[at].Enabled != nil {
			at++
		}
		if at == len(Table) || Table[at].Name != name {
			return false
		}
		at++
	}
	return true
}

func unknown(name string) error {
	return &diag.Error{Code: "E0602", Msg: fmt.Sprintf("unknown pass `%s`", name),
		Want: "one of " + strings.Join(Names(), ", "), Hint: diag.DidYouMean(name, Names())}
}

func levelError(p *Pass, have ir.Level) error {
	e := &diag.Error{Code: "E0603",
		Msg: fmt.Sprintf("pass `%s` takes a module at level %s; this one is at level %s", p.Name, p.In, have)}
	if have > p.In {
		e.Hint = "use the dump of an earlier pass"
		return e
	}
	var between []string
	for _, q := range Table {
		if q.Required && q.In >= have && q.In != q.Out && q.Out <= p.In {
			between = append(between, q.Name)
		}
	}
	e.Hint = "run " + strings.Join(between, ", ") + " first"
	return e
}
