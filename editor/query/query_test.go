package query

import (
	"cmp"
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"testing"

	"ptc/editor/analysis"
	"ptc/editor/protocol"
	"ptc/editor/text"
	"ptc/internal/golden"
	"ptc/lang/source"
)

// mark is a place in the text of a case: ⟨1⟩, which is taken out.
func marks(t *testing.T, src string) (string, map[string]int) {
	t.Helper()
	at := map[string]int{}
	for {
		i := strings.Index(src, "⟨")
		if i < 0 {
			return src, at
		}
		name, rest, ok := strings.Cut(src[i+len("⟨"):], "⟩")
		if !ok || len(name) > 8 {
			t.Fatalf("a mark at %d has no end", i)
		}
		at[name] = i
		src = src[:i] + rest
	}
}

// TestCases asks what the section ask says: a mark, a request, and perhaps a name. The
// section now is the text in the editor, where it is not that of the program; the option
// file is the name of the main file, where it is not main.ptl.
func TestCases(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, c *golden.Case) {
		src, at := marks(t, c.Input("main.ptl"))
		in := analysis.Input{Name: cmp.Or(c.Option("file"), "main.ptl"), Text: src, Layout: c.Option("layout"), Target: cmp.Or(c.Option("target"), "ref"), Read: func(p string) ([]byte, error) {
			if !c.Has(p) {
				return nil, source.ErrOutside
			}
			return []byte(c.Input(p)), nil
		}}
		p := analysis.Check(context.Background(), in)
		v := &View{Program: p, File: p.Main, Now: text.New(src), URI: func(f *source.File) string { return f.Name }}
		if c.Option("compile") == "true" {
			if v.Structure = analysis.Compile(context.Background(), in, p.Layout); v.Structure == nil {
				t.Fatal("nothing was compiled")
			}
		}
		if c.Has("now") {
			src, at = marks(t, c.Input("now"))
			v.Now = text.New(src)
		}
		var out strings.Builder
		for _, line := range strings.Split(strings.TrimSpace(c.Input("ask")), "\n") {
			words := strings.Fields(line)
			offset, ok := at[words[len(words)-1]]
			if !ok {
				offset = at[words[1]]
			}
			fmt.Fprintf(&out, "# %s\n%s\n", line, ask(v, words, v.Now.Position(offset)))
		}
		c.Output("answers", out.String())
	})
}

func ask(v *View, words []string, p protocol.Position) string {
	all := protocol.Range{End: protocol.Position{Line: 1 << 20}}
	var out []string
	switch words[0] {
	case "hover":
		if h := v.Hover(p); h != nil {
			return shown(v, h.Range) + "\n" + h.Contents.Value
		}
	case "definition":
		return places(v.Definition(p))
	case "references":
		return places(v.References(p, true))
	case "rename":
		e, err := v.Rename(context.Background(), p, words[2])
		if err != nil {
			return "error: " + err.Error()
		}
		for uri, edits := range e.Changes {
			for _, x := range edits {
				out = append(out, place1(uri, x.Range)+" "+x.NewText)
			}
		}
		sort.Strings(out)
	case "complete":
		for i, x := range v.Complete(p).Items {
			if i == 12 {
				out = append(out, "…")
				break
			}
			out = append(out, strings.TrimSpace(strconv.Itoa(x.Kind)+" "+x.Label+"  "+x.Detail))
		}
	case "signature":
		if s := v.Signature(p); s != nil {
			return fmt.Sprintf("%s, argument %d", s.Signatures[0].Label, s.ActiveParameter)
		}
	case "hints":
		for _, h := range v.Hints(all) {
			out = append(out, fmt.Sprintf("%d:%d %s", h.Position.Line+1, h.Position.Character+1, h.Label))
		}
	case "lenses":
		for _, l := range v.Lenses("main.ptl") {
			out = append(out, shown(v, l.Range)+": "+v.LensText(l.Data.Module))
		}
	case "actions":
		for _, a := range v.Actions("main.ptl", protocol.Range{Start: p, End: p}) {
			out = append(out, fmt.Sprint(a.Title, a.Command.Arguments))
		}
	case "fixes":
		for _, a := range v.Fixes(all) {
			out = append(out, a.Title)
			for _, e := range a.Edit.Changes["main.ptl"] {
				out = append(out, fmt.Sprintf("  %s %q", place1("", e.Range), e.NewText))
			}
		}
	case "diagnostics":
		for uri, list := range v.Diagnostics() {
			for _, d := range list {
				out = append(out, fmt.Sprintf("%s %s %s", place1(uri, d.Range), d.Code, strings.ReplaceAll(d.Message, "\n", "; ")))
			}
		}
		sort.Strings(out)
	case "symbols":
		out = outline("", Symbols("main.ptl", v.Now))
	case "folds":
		for _, f := range Folds(v.Now) {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%d-%d %s", f.StartLine+1, f.EndLine+1, f.Kind)))
		}
	case "format":
		edits, errs := Format("main.ptl", v.Now)
		for _, e := range edits {
			out = append(out, fmt.Sprintf("%s %q", place1("", e.Range), e.NewText))
		}
		if len(errs) > 0 {
			out = append(out, errs[0].Msg)
		}
	case "tokens":
		data, last := v.SemanticTokens().Data, protocol.Position{}
		for i := 0; i < len(data); i += 5 {
			if data[i] > 0 {
				last.Character = 0
			}
			last.Line, last.Character = last.Line+data[i], last.Character+data[i+1]
			end := last
			end.Character += data[i+2]
			out = append(out, shown(v, protocol.Range{Start: last, End: end})+":"+TokenTypes[data[i+3]])
		}
		return strings.Join(out, " ")
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, "\n")
}

func outline(indent string, list []protocol.DocumentSymbol) (out []string) {
	for _, s := range list {
		out = append(out, strings.TrimRight(fmt.Sprintf("%s%s  %s", indent, s.Name, s.Detail), " "))
		out = append(out, outline(indent+"  ", s.Children)...)
	}
	return out
}

// shown is the text of a range.
func shown(v *View, r protocol.Range) string {
	return v.Now.String[v.Now.Offset(r.Start):v.Now.Offset(r.End)]
}

func places(list []protocol.Location) string {
	var out []string
	for _, l := range list {
		out = append(out, place1(l.URI, l.Range))
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, "\n")
}

func place1(uri string, r protocol.Range) string {
	return fmt.Sprintf("%s:%d:%d-%d:%d", uri, r.Start.Line+1, r.Start.Character+1, r.End.Line+1, r.End.Character+1)
}
