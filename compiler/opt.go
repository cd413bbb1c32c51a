package compiler

import (
	"errors"
	"fmt"
	"strings"

	"ptc/backend"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/verify"
	"ptc/lang/syntax"
	"ptc/passes"
	"ptc/passes/pass"
)

// Opt reads printed IR of any level, verifies it, runs the named passes in
// order, verifies the result and prints it. Without passes it is the identity
// on valid IR.
func Opt(file string, src []byte, names []string, target string) (string, []pass.Remark, error) {
	m, errs := ir.Parse(file, src)
	if len(errs) > 0 {
		return "", nil, errs
	}
	if errs := verify.Module(m); len(errs) > 0 {
		return "", nil, errs
	}
	if len(names) == 0 {
		return ir.Print(m), nil, nil
	}
	t, err := backend.Resolve(target)
	if err != nil {
		return "", nil, err
	}
	c := &pass.Context{Target: described(t)}
	inOrder := passes.InOrder(names)
	err = inItsOrder(names, inOrder, func() error { return passes.Run(c, m, &passes.Options{Only: names, VerifyEach: true}) })
	if err != nil {
		return "", c.Remarks, err
	}
	return ir.Print(m), c.Remarks, nil
}

// inItsOrder runs passes that a user has chosen. What goes wrong with all of a level, from its first pass on, is
// a bug of ours; a pass that others have to precede can do nothing right, and may do anything.
func inItsOrder(names []string, inOrder bool, run func() error) (err error) {
	if !inOrder {
		defer func() {
			if p := recover(); p != nil {
				err = orderError(names, fmt.Errorf("%v", p))
			}
		}()
	}
	err = classify(run())
	var bug *Bug
	if errors.As(err, &bug) && !inOrder {
		return orderError(names, bug.Err)
	}
	return err
}

// orderError says that passes were run which others have to precede.
func orderError(names []string, err error) error {
	cause := err
	var broken *passes.Broken
	if errors.As(err, &broken) {
		cause = broken.Err
		names = []string{broken.Pass}
	}
	which := "passes `" + strings.Join(names, ",") + "`"
	if len(names) == 1 {
		which = "pass `" + names[0] + "`"
	}
	first, _, _ := strings.Cut(cause.Error(), "\n")
	return &diag.Error{Code: "E0603", Msg: fmt.Sprintf("%s cannot be run on this module, as far as others have brought it: %s", which, first),
		Want: "the passes of the table before it, in its order", Hint: "`ptc help opt` lists them; `ptc compile --dump-ir DIR` writes the module after each"}
}

// HasTarget is whether a target has this name, whether or not code can be made for it here.
func HasTarget(name string) bool {
	_, err := backend.Resolve(name)
	return err == nil
}

// Format is the source in its canonical layout; comments and tokens stay.
func Format(file string, src []byte) ([]byte, diag.List) { return syntax.Format(file, src) }

// PassInfo describes a row of the pass table.
type PassInfo struct{ Name, Doc, In, Out string }

// Passes lists the pass table in order.
func Passes() []PassInfo {
	var out []PassInfo
	for _, p := range passes.Table {
		out = append(out, PassInfo{p.Name, p.Doc, p.In.String(), p.Out.String()})
	}
	return out
}

// ConfigEntries lists the entries of a source's own config, in order; none where
// it does not parse.
func ConfigEntries(file string, src []byte) []string {
	f, errs := syntax.Parse(file, src)
	if len(errs) > 0 {
		return nil
	}
	var out []string
	for _, d := range f.Decls {
		if c, ok := d.(*syntax.Config); ok {
			for _, e := range c.Entries {
				out = append(out, e.Key.Name)
			}
		}
	}
	return out
}

// SweepAxes are those of a source's own block `sweep`, each as name=value,value…; none
// where it has none or does not parse.
func SweepAxes(file string, src []byte) []string {
	f, errs := syntax.Parse(file, src)
	if len(errs) > 0 {
		return nil
	}
	text := func(x syntax.Expr) string {
		at := x.Extent()
		return strings.TrimSpace(string(src[at.Pos.Offset:at.EndPos.Offset]))
	}
	var out []string
	for _, d := range f.Decls {
		s, ok := d.(*syntax.Sweep)
		if !ok {
			continue
		}
		for _, a := range s.Axes {
			var values []string
			if list, ok := a.First.(*syntax.List); ok {
				for _, x := range list.Elems {
					values = append(values, text(x))
				}
			} else if a.Last != nil {
				values = []string{text(a.First) + ".." + text(a.Last)}
			}
			out = append(out, a.Key.Name+"="+strings.Join(values, ","))
		}
	}
	return out
}

// Targets lists the names that Options.Target takes.
func Targets() []string { return backend.Names() }

// BackendInfo says whether a backend can generate code here.
type BackendInfo struct {
	Name, Doc string
	Missing   error  // nil where it can
	Target    string // what its short name resolves to here
}

// Backends lists the backends in order of preference.
func Backends() []BackendInfo {
	var out []BackendInfo
	for _, b := range backend.All() {
		i := BackendInfo{Name: b.Name, Doc: b.Doc, Missing: b.Available()}
		if t, err := b.Resolve(b.Name); err == nil {
			i.Target = t.Info().Name
		}
		out = append(out, i)
	}
	return out
}
