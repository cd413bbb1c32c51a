package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ptc/internal/diag"
)

// telling is how a command tells what is wrong: as text for people, or for
// programs.
type telling struct {
	format, color choice
	found         []told // for sarif, which is one document
}

func newTelling() telling {
	return telling{format: choice{value: "text", words: []string{"text", "json", "sarif"}},
		color: choice{value: "auto", words: []string{"auto", "always", "never"}}}
}

// diagnosticsFlag is for every command: each can fail, and programs start all of them.
func (a *app) diagnosticsFlag(root *cobra.Command) {
	root.PersistentFlags().Var(&a.telling.format, "diagnostics", "report errors and warnings as text, as json (an object on each line),\nor as `sarif` (one document of SARIF 2.1.0)")
	complete(root, "diagnostics", func([]string) []string { return a.telling.format.words })
}

// forPeople says whether messages are text.
func (t *telling) forPeople() bool { return t.format.value != "json" && t.format.value != "sarif" }

// style is colors where someone looks at them: see https://no-color.org.
func (a *app) style() diag.Style {
	switch a.telling.color.value {
	case "always":
		return diag.ANSI
	case "never":
		return diag.Plain
	}
	f, ok := a.err.(*os.File)
	return diag.Style(ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd())))
}

// place is a range of a source. Lines and columns count from 1, columns in bytes;
// the end is behind the last byte. A place that is not known has none of these.
type place struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"endLine"`
	EndColumn int    `json:"endColumn"`
}

// told is a diagnostic for programs.
type told struct {
	Code     string `json:"code"`
	Severity string `json:"severity"` // error, warning
	place
	Message    string    `json:"message"`
	Expected   string    `json:"expected,omitempty"`
	Suggestion string    `json:"suggestion,omitempty"`
	Notes      []related `json:"notes"`
	text       string    // of the source, for columns in characters
}

// related is a further place.
type related struct {
	place
	Message string `json:"message"`
	text    string
}

func placeOf(p diag.Pos, n int) place {
	if !p.IsValid() {
		return place{File: p.File}
	}
	return place{p.File, p.Line, p.Col, p.Line, p.Col + max(n, 1)}
}

// tell reports an error: diagnostics with their places, any other as a message.
func (a *app) tell(f *fault) {
	list, ok := diag.As(f.err)
	if !ok {
		a.message("error", f.err.Error())
		return
	}
	shown, texts := shownAs(list, f.source)
	if a.telling.forPeople() {
		fmt.Fprint(a.err, a.style().Render(shown, func(file string) (string, bool) { t, ok := texts[file]; return t, ok }))
		if len(list) > 1 {
			fmt.Fprintf(a.err, "\n%d errors\n", len(list))
		}
		return
	}
	for _, e := range shown {
		x := told{Code: e.Code, Severity: "error", place: placeOf(e.Pos, e.Len), Message: e.Msg, Expected: e.Want, Suggestion: e.Hint,
			Notes: []related{}, text: texts[e.Pos.File]}
		for _, n := range e.Note {
			x.Notes = append(x.Notes, related{placeOf(n.Pos, 0), n.Msg, texts[n.Pos.File]})
		}
		a.find(x)
	}
}

// shownAs gives diagnostics the paths that the user knows sources by, and the
// texts by these.
func shownAs(list diag.List, source sources) (diag.List, map[string]string) {
	texts := map[string]string{}
	place := func(p diag.Pos) diag.Pos {
		if source == nil {
			return p
		}
		if text, path, ok := source(p.File); ok {
			p.File = path
			texts[path] = text
		}
		return p
	}
	shown := make(diag.List, len(list))
	for i, e := range list {
		c := *e
		c.Pos = place(e.Pos)
		c.Note = append([]diag.Note(nil), e.Note...)
		for j := range c.Note {
			c.Note[j].Pos = place(c.Note[j].Pos)
		}
		shown[i] = &c
	}
	return shown, texts
}

// message reports what has no place.
func (a *app) message(severity, text string) {
	if a.telling.forPeople() {
		fmt.Fprintf(a.err, "%s: %s\n", a.style().Head(severity), text)
		return
	}
	a.find(told{Severity: severity, Message: text, Notes: []related{}})
}

func (a *app) find(x told) {
	if a.telling.format.value == "sarif" {
		a.telling.found = append(a.telling.found, x)
		return
	}
	line, err := json.Marshal(x)
	if err != nil {
		panic(err) // strings and numbers alone
	}
	fmt.Fprintf(a.err, "%s\n", line)
}

// finish writes the document of SARIF, also where nothing was found: readers
// want one for each run.
func (a *app) finish() {
	if a.telling.format.value != "sarif" {
		return
	}
	text, err := json.MarshalIndent(sarifOf(a.telling.found), "", "  ")
	if err != nil {
		panic(err) // strings and numbers alone
	}
	fmt.Fprintf(a.err, "%s\n", text)
}
