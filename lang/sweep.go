package lang

import (
	"ptc/internal/diag"
	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
)

// checkSweep reports what of the main file's sweep nothing could go through.
func checkSweep(in *eval.Interp) {
	for _, d := range in.Prog.Main.Tree.Decls {
		x, ok := d.(*syntax.Sweep)
		if !ok {
			continue
		}
		said := map[string]bool{}
		for _, a := range x.Axes {
			name := a.Key.Name
			if said[name] {
				in.Errs.Add(source.ErrorAt("E0202", a.Key, "`%s` is declared twice", name))
			}
			said[name] = true
			if _, known := in.Config.Value(name); !known && name != "seed" {
				in.Errs.Add(source.Wanted("E0730", a.Key, "an entry of the config, or `seed`", diag.DidYouMean(name, in.Config.Names()), "the config has no entry `%s`", name))
			}
			if _, list := a.First.(*syntax.List); list == (a.Last != nil) {
				in.Errs.Add(source.Wanted("E0731", a.First, "`[a, b]`, or `1..3` for whole numbers", "", "`%s` has neither a list of values nor a range", name))
			}
		}
	}
}
