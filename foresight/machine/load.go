package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"ptc/internal/diag"
	_ "ptc/lang/directive" // whose directives the parser of the language needs
	"ptc/lang/source"
	"ptc/lang/syntax"
)

// Extension is how the names of files of machines end.
const Extension = ".ptm"

// IsFile reports whether a name is that of a file of a machine.
func IsFile(name string) bool { return strings.HasSuffix(name, Extension) }

// Load reads the text of a .ptm file; name stands in the positions of its mistakes. With any mistake the Machine is nil.
func Load(name string, src []byte) (*Machine, diag.List) {
	tree, errs := syntax.Parse(name, src)
	if len(errs) > 0 {
		return nil, ofMachine(errs)
	}
	r := &reader{m: &Machine{}}
	if d := r.only(tree); d != nil {
		r.machine(d)
	}
	if len(r.errs) > 0 {
		return nil, r.errs.Sort()
	}
	canonical, errs := syntax.Format(name, src)
	if len(errs) > 0 {
		return nil, errs
	}
	sum := sha256.Sum256(canonical)
	r.m.Hash = hex.EncodeToString(sum[:])
	return r.m, nil
}

// example is the remedy for a file that is nothing like a machine.
const example = "`ptc machine show h100` prints an example"

// ofMachine words mistakes of any file of the language as those of a .ptm file.
func ofMachine(errs diag.List) diag.List {
	for _, e := range errs {
		switch e.Code {
		case "E0107":
			e.Hint = "is this a .ptm file?"
		case "E0109":
			e.Want, e.Hint = "a machine", example
		case "E0110":
			e.Hint = "a machine takes a few KB; " + example
		}
	}
	return errs
}

// reader makes a Machine of a tree.
type reader struct {
	m    *Machine
	errs diag.List
}

// maxErrors is how many mistakes of one file are reported.
const maxErrors = 50

func (r *reader) add(e *diag.Error) {
	if len(r.errs) < maxErrors {
		r.errs = append(r.errs, e)
	}
}

func (r *reader) wants(code string, n syntax.Node, want, hint, format string, args ...any) {
	r.add(source.Wanted(code, n, want, hint, format, args...))
}

// only is the one declaration of the file.
func (r *reader) only(tree *syntax.File) (found *syntax.Machine) {
	for _, d := range tree.Decls {
		m, is := d.(*syntax.Machine)
		switch {
		case !is:
			r.wants("E0801", d, "one `machine name { … }`", "move it to a .ptl file", "a declaration that is not a machine")
		case found != nil:
			r.add(source.Conflict("E0801", m.Name, found.Name.At(), "the first machine", "one machine in a file", "move `"+m.Name.Name+"` to a file of its own",
				"a second machine, `%s`", m.Name.Name))
		default:
			found = m
		}
	}
	return found
}

// machine reads the declaration, section by section, and checks what sections say together.
func (r *reader) machine(d *syntax.Machine) {
	r.m.Name = d.Name.Name
	own := r.block("", d, nil)
	blocks := map[string]*block{}
	levels := map[string]*syntax.Section{}
	for _, item := range d.Items {
		switch x := item.(type) {
		case *syntax.Fact:
			own.fact(x)
		case *syntax.Section:
			if x.Kind == "level" {
				r.level(x, levels)
				continue
			}
			if x.Name != nil {
				r.wants("E0802", x.Name, "`"+x.Kind+" { … }`", "only a level has a name", "`%s` has the name `%s`", x.Kind, x.Name.Name)
			}
			if old := blocks[x.Kind]; old != nil {
				r.twice(x, old.node, "section `"+x.Kind+"`")
				continue
			}
			blocks[x.Kind] = r.section(x)
		}
	}
	own.complete(d.Name)
	for _, kind := range []string{"device", "host"} {
		if blocks[kind] == nil {
			r.wants("E0807", d.Name, "`"+kind+" { … }`", example, "`%s` has no section `%s`", d.Name.Name, kind)
		}
	}
	if len(r.errs) == 0 {
		r.agree(blocks["device"], d)
	}
}

// section reads a section that is not a level.
func (r *reader) section(x *syntax.Section) *block {
	if x.Kind == "kernels" {
		r.kernels(x)
		return &block{node: x}
	}
	b := r.block(x.Kind, x, nil)
	for _, f := range x.Facts {
		b.fact(f)
	}
	b.complete(x)
	return b
}

// level reads a level, the next one outwards.
func (r *reader) level(x *syntax.Section, names map[string]*syntax.Section) {
	if x.Name == nil {
		r.wants("E0807", x, "`level node { … }`", "", "a level without a name")
		return
	}
	if old := names[x.Name.Name]; old != nil {
		r.twice(x.Name, old.Name, "level `"+x.Name.Name+"`")
		return
	}
	names[x.Name.Name] = x
	r.m.Levels = append(r.m.Levels, Level{Name: x.Name.Name})
	b := r.block("level", x, &r.m.Levels[len(r.m.Levels)-1])
	for _, f := range x.Facts {
		b.fact(f)
	}
	b.complete(x)
}

// kernel is the row of every entry of a table of kernels.
var kernel = Entry{Section: "kernels", Key: "kernel", Unit: "s", lo: 1e-9, hi: hour, at: func(*Machine, *Level) any { return new(Sourced) }}

// kernels reads the table of measured times.
func (r *reader) kernels(x *syntax.Section) {
	r.m.Kernels = map[string]PS{}
	first := map[string]syntax.Node{}
	for _, f := range x.Facts {
		if f.Kernel == nil {
			r.wants("E0802", f.Key, "`\"key\" = 12.3 us from \"source\"`", "keys stand in quotes", "`%s` in a table of kernels", f.Key.Name)
			continue
		}
		key := string(f.Kernel.Text)
		if old := first[key]; old != nil {
			r.twice(f.Kernel, old, "kernel "+quoted(key))
			continue
		}
		first[key] = f.Kernel
		if v, ok := r.number(&kernel, f); ok {
			r.m.Kernels[key] = Picoseconds(v.Value)
		}
	}
}

func (r *reader) twice(n, old syntax.Node, what string) {
	r.add(source.Conflict("E0806", n, old.At(), "the first one", "", "delete one of the two", "%s is given twice", what))
}

// quoted is a text in quotes, short enough for a message.
func quoted(s string) string {
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:40], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}
