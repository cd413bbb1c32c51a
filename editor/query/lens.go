package query

import (
	"fmt"

	"ptc/editor/protocol"
	"ptc/internal/units"
	"ptc/lang/syntax"
)

// CommandLayout shows the values of another layout: its arguments are the document and
// the layout's name.
const CommandLayout = "ptc.layout"

// Lenses are the places of what a compilation says: above each module and model.
func (v *View) Lenses(uri string) []protocol.CodeLens {
	out := []protocol.CodeLens{}
	if v.File == nil || v.File.Tree == nil || !v.Trains {
		return out
	}
	for _, m := range syntax.Decls[*syntax.Module](v.File.Tree) {
		if m.Kind == "optimizer" {
			continue
		}
		if r, ok := v.place(v.File, m.Name); ok {
			out = append(out, protocol.CodeLens{Range: r, Data: &protocol.LensData{URI: uri, Module: m.Name.Name}})
		}
	}
	return out
}

// LensText is what the lens of a module says.
func (v *View) LensText(module string) string {
	if v.Structure == nil || v.Structure.Plan == nil {
		return "not compiled"
	}
	d := v.File.Modules[module]
	if d == nil {
		return "not compiled"
	}
	if d.Kind == "model" {
		on := ""
		if v.Input.Target != "" {
			on = " on " + v.Input.Target
		}
		return fmt.Sprintf("%s, %s per device under %s%s", units.Plural(v.Structure.Collectives(nil), "collective"), units.Bytes(v.Structure.Memory()), v.layoutName(), on)
	}
	paths := v.Structure.Paths[module]
	if len(paths) == 0 {
		return "not in the model"
	}
	return units.Plural(v.Structure.Collectives(paths), "collective") + " under " + v.layoutName()
}

// Actions are what can be done at a range: to show another layout.
func (v *View) Actions(uri string, r protocol.Range) []protocol.CodeAction {
	out := []protocol.CodeAction{}
	if v.File == nil || v.File.Tree == nil || v.File != v.Main {
		return out
	}
	for _, y := range syntax.Decls[*syntax.Layout](v.File.Tree) {
		if y.Name.Name == v.Layout || y.Auto != nil {
			continue
		}
		if at, ok := v.place(v.File, y); ok && !before(at.End, r.Start) && !before(r.End, at.Start) {
			title := "Show shardings under the layout `" + y.Name.Name + "`"
			out = append(out, protocol.CodeAction{Title: title, Kind: KindSource,
				Command: &protocol.Command{Title: title, Command: CommandLayout, Arguments: []any{uri, y.Name.Name}}})
		}
	}
	return out
}
