package query

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"ptc/editor/analysis"
	"ptc/editor/names"
	"ptc/editor/protocol"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang"
	"ptc/lang/source"
	"ptc/lang/syntax"
)

// Renamable is the range of the name at a position, and the name; or why it cannot have
// another one.
func (v *View) Renamable(p protocol.Position) (protocol.Range, string, error) {
	r := v.at(p)
	if r == nil {
		return protocol.Range{}, "", errors.New("there is no name here")
	}
	s := r.Symbol
	switch {
	case v.Broken || len(v.Errs) > 0 || v.Now.String != v.TextOf(v.File).String:
		return protocol.Range{}, "", errors.New("the program has mistakes: whether it means the same with another name can be told of one without")
	case s.Kind == names.Builtin, s.Kind == names.Field, s.Kind == names.Axis && s.At == nil && !s.Named:
		return protocol.Range{}, "", fmt.Errorf("`%s` is a name of the language", s.Name)
	case s.File != nil && s.File.Std:
		return protocol.Range{}, "", fmt.Errorf("`%s` is declared in the standard library", s.Name)
	case s.Kind == names.Import && !named(s):
		return protocol.Range{}, "", fmt.Errorf("`%s` is the name of a file: give the import another one with `as`", s.Name)
	}
	at, ok := v.span(r.File, r.From, r.To)
	if !ok {
		return at, "", errors.New("this was edited just now")
	}
	return at, s.Name, nil
}

// named is whether an import has a name of its own.
func named(s *names.Symbol) bool {
	d, ok := s.Decl.(*syntax.Import)
	return ok && d.As != nil
}

// Rename gives what is named at a position another name, in all of the user's files. The
// program with it is evaluated again, under every layout, and must be the same but for
// the name.
func (v *View) Rename(ctx context.Context, p protocol.Position, name string) (*protocol.WorkspaceEdit, error) {
	if _, _, err := v.Renamable(p); err != nil {
		return nil, err
	}
	s := v.at(p).Symbol
	if t := syntax.Tokens([]byte(name)); len(t) != 1 || t[0].Class != syntax.ClassName || t[0].Text != name {
		return nil, fmt.Errorf("`%s` cannot be a name", name)
	}
	if name == s.Name {
		return &protocol.WorkspaceEdit{Changes: map[string][]protocol.TextEdit{}}, nil
	}
	if err := v.free(s, name); err != nil {
		return nil, err
	}
	texts := map[string]string{}
	edit := &protocol.WorkspaceEdit{Changes: map[string][]protocol.TextEdit{}}
	for _, f := range v.Files {
		if f.Std {
			continue
		}
		text, last := "", 0
		src := v.TextOf(f).String
		for _, r := range v.Names.In(f) {
			if r.Symbol != s {
				continue
			}
			at, ok := v.span(f, r.From, r.To)
			if !ok {
				return nil, errors.New("a file was edited just now")
			}
			edit.Changes[v.URI(f)] = append(edit.Changes[v.URI(f)], protocol.TextEdit{Range: at, NewText: name})
			text += src[last:r.From] + name
			last = r.To
		}
		texts[f.Name] = text + src[last:]
	}
	if err := v.same(ctx, texts, s.Name, name); err != nil {
		return nil, err
	}
	return edit, nil
}

// free reports a name that is taken where the symbol is known.
func (v *View) free(s *names.Symbol, name string) error {
	if s.Owner == nil {
		for _, f := range v.Files {
			if f.Std && v.Names.Top(f, name) != nil && s.Kind != names.Layout && s.Kind != names.MeshAxis {
				return fmt.Errorf("`%s` is a name of the standard library", name)
			}
		}
	}
	for _, f := range v.Files {
		if f.Std {
			continue
		}
		from, to := 0, len(v.TextOf(f).String)
		if s.Owner != nil {
			if f != s.File {
				continue
			}
			at := s.Owner.Extent()
			from, to = at.Pos.Offset, at.EndPos.Offset
		}
		for _, t := range syntax.Tokens([]byte(v.TextOf(f).String[from:to])) {
			if t.Class == syntax.ClassName && t.Text == name {
				return fmt.Errorf("`%s` is a name in %s already, on line %d", name, f.Name, v.TextOf(f).Position(from+t.Pos.Offset).Line+1)
			}
		}
	}
	return nil
}

// same evaluates the program with other texts, and compares.
func (v *View) same(ctx context.Context, texts map[string]string, old, name string) error {
	in := v.Input
	in.Text = texts[v.Main.Name]
	read := in.Read
	in.Read = func(p string) ([]byte, error) {
		if t, ok := texts[p]; ok {
			return []byte(t), nil
		}
		if read == nil {
			return nil, source.ErrOutside
		}
		return read(p)
	}
	now, errs := lang.Load(in.Name, []byte(in.Text), in.Read)
	if len(errs) > 0 {
		return refused(name, errs)
	}
	layouts := v.All
	if len(layouts) == 0 {
		layouts = []string{""}
	}
	for _, y := range layouts {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		o := lang.Options{Layout: y, Auto: v.Autos[y], Omit: true}
		before, errs := v.Lower(o)
		if len(errs) > 0 {
			return nothingToCompare(v.Program, errs)
		}
		if y == old {
			o.Layout = name
		}
		after, errs := now.Lower(o)
		if len(errs) > 0 {
			return refused(name, errs)
		}
		if nameless(said(before), old, name) != nameless(said(after), old, name) {
			return fmt.Errorf("with the name `%s` the program means something else", name)
		}
	}
	return nil
}

// said is the text of a module and, of an auto layout, of what it keeps and allows.
func said(r *lang.Result) string {
	text := ir.Print(r.Module)
	if r.Auto == nil {
		return text
	}
	text += fmt.Sprintln("auto", r.Auto.Levels, r.Auto.Memory)
	for _, k := range r.Auto.Keep {
		text += k.Text + "\n"
	}
	for _, a := range r.Auto.Allow {
		text += fmt.Sprintln(a.Word, a.Least, a.Most, a.Numbers, a.Values, a.Sets)
	}
	return text
}

// nothingToCompare is nil for files of modules alone, which nothing evaluates.
func nothingToCompare(p *analysis.Program, errs diag.List) error {
	if !p.Trains {
		return nil
	}
	return errs
}

func refused(name string, errs diag.List) error {
	return fmt.Errorf("with the name `%s` the program has a mistake: %s", name, errs[0].Msg)
}

var (
	place   = regexp.MustCompile(`(?m) // .*$|\b(at|why)="[^"]*"`)
	unnamed = regexp.MustCompile(`[\pL\pN_.]+`)
)

// nameless is a module's text without places in the source, and with both names alike.
// Lists of metadata are sorted by name, and so are compared as sets.
func nameless(text, old, name string) string {
	text = place.ReplaceAllString(text, "")
	text = unnamed.ReplaceAllStringFunc(text, func(w string) string {
		parts := strings.Split(w, ".")
		for i, p := range parts {
			if p == old || p == name {
				parts[i] = "_"
			}
		}
		return strings.Join(parts, ".")
	})
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "meta ") {
			words := strings.FieldsFunc(l, func(r rune) bool { return strings.ContainsRune(" ,()", r) })
			sort.Strings(words)
			lines[i] = strings.Join(words, " ")
		}
	}
	return strings.Join(slices.Clip(lines), "\n")
}
