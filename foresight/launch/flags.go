package launch

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"ptc/internal/diag"
)

// fate is what becomes of a setting.
type fate int

const (
	translated fate = iota // a field of the run, or a rule of the layout
	idle                   // without effect on the layout: kept for the way back
	refused                // it means something that ptc lacks
)

// group is settings that share a fate, in words such as `num-layers:int swiglu`. The kinds are
// int, float, string, many (one value or more) and, without a kind, a switch.
// A key of a file has the kind bool in place of a switch. A refused setting is harmless with the
// values after `=`: `mtp-num-layers:int=0`.
type group struct {
	fate  fate
	why   string
	words string
}

// flag is one setting of a table.
type flag struct {
	name     string
	kind     string
	fate     fate
	why      string
	harmless []string
}

// table is the settings of a software by name.
func table(groups []group) map[string]*flag {
	out := map[string]*flag{}
	for _, g := range groups {
		for w := range strings.FieldsSeq(g.words) {
			f := &flag{fate: g.fate, why: g.why, kind: "switch"}
			w, values, harmless := strings.Cut(w, "=")
			if harmless {
				f.harmless = strings.Split(values, "|")
			}
			if name, kind, ok := strings.Cut(w, ":"); ok {
				w, f.kind = name, kind
			}
			f.name = w
			out[w] = f
		}
	}
	return out
}

// given is a setting that somebody gave.
type given struct {
	*flag
	values []string
	key    bool   // a key of a file, not a flag
	preset bool   // of a file of defaults
	bare   bool   // a number, true, false or null of a file, where text could stand, too
	as     string // the name that the user wrote, where it is not the flag's
}

// text is the setting as a file or a command line has it.
func (g given) text() string {
	switch {
	case g.as != "" && len(g.values) == 0:
		return g.as
	case g.as != "":
		return g.as + "=" + strings.Join(g.values, ",")
	case g.key:
		return g.name + " = " + strings.Join(g.values, ", ")
	}
	out := "--" + g.name
	for _, v := range g.values {
		out += " " + quote(v)
	}
	return out
}

// quote is a word for a shell.
func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+=@%^") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// line is a command line, read: settings by name, the last of each, in the order of the first.
type line struct {
	software string
	settings map[string]given
	order    []string
	read     map[string]bool   // translated settings that somebody asked for
	keys     bool              // they are keys of files
	names    map[string]string // what messages call settings, where it is not the flag
	kept     []string          // what is written again besides settings
	notes    []Note
	errs     []error
}

// parse reads a command line as Python's argparse does without abbreviations: `--flag value`,
// `--flag=value`, switches, and flags of several values, which end at the next flag. Dashes
// and underscores in names are told apart, as there.
func parse(software string, flags map[string]*flag, args []string) (*line, error) {
	l := &line{software: software, settings: map[string]given{}, read: map[string]bool{}}
	size := 0
	for _, a := range args {
		size += len(a) + 1
	}
	if size > MaxInput {
		return nil, fmt.Errorf("the command line is longer than 1 MiB")
	}
	for i := 0; i < len(args); {
		a := args[i]
		i++
		name, ok := strings.CutPrefix(a, "--")
		if !ok || name == "" {
			return nil, fmt.Errorf("`%s` is neither a flag nor the value of one", a)
		}
		name, value, inline := strings.Cut(name, "=")
		f := flags[name]
		if f == nil {
			return nil, unknown(software, "--"+name, "--", slices.Collect(maps.Keys(flags)))
		}
		g := given{flag: f}
		switch {
		case inline && f.kind == "switch":
			return nil, fmt.Errorf("--%s is a switch and takes no value, so `%s` is wrong", name, a)
		case inline:
			g.values = []string{value}
		case f.kind == "many":
			for i < len(args) && !isFlag(args[i]) {
				g.values = append(g.values, args[i])
				i++
			}
		case f.kind != "switch" && i < len(args) && !isFlag(args[i]):
			g.values = args[i : i+1]
			i++
		}
		if f.kind != "switch" && len(g.values) == 0 {
			return nil, fmt.Errorf("--%s needs a value", name)
		}
		if err := g.check(); err != nil {
			return nil, err
		}
		l.set(g)
	}
	return l, nil
}

// set is the last word about a setting.
func (l *line) set(g given) {
	if _, again := l.settings[g.name]; !again {
		l.order = append(l.order, g.name)
	}
	l.settings[g.name] = g
}

// isFlag reports whether argparse takes a word for a flag: negative numbers are values.
func isFlag(s string) bool {
	if !strings.HasPrefix(s, "-") || s == "-" {
		return false
	}
	_, err := strconv.ParseFloat(s, 64)
	return err != nil
}

// label is the setting's name.
func (g given) label() string {
	switch {
	case g.as != "":
		return g.as
	case g.key:
		return g.name
	}
	return "--" + g.name
}

// check says what is wrong with the values of a number.
func (g given) check() error {
	for _, v := range g.values {
		switch g.kind {
		case "int":
			if _, err := strconv.Atoi(v); err != nil {
				return fmt.Errorf("%s: `%s` is not a whole number", g.label(), v)
			}
		case "float":
			if x, err := strconv.ParseFloat(v, 64); err != nil || math.IsNaN(x) {
				return fmt.Errorf("%s: `%s` is not a number", g.label(), v)
			}
		case "bool":
			if v != "true" && v != "false" {
				return fmt.Errorf("%s: `%s` is neither true nor false", g.label(), v)
			}
		}
	}
	return nil
}

// unknown is the error for a setting that no table has.
func unknown(software, name, prefix string, known []string) error {
	slices.Sort(known)
	hint := diag.DidYouMean(strings.TrimPrefix(name, prefix), known)
	if hint != "" {
		hint = "; " + hint
	}
	return fmt.Errorf("%s has no setting `%s` that ptc knows%s", software, name, hint)
}

// sort notes the settings that no field has, those of one reason together, and reports those
// that are refused.
func (l *line) sort() (kept []string, err error) {
	kept = l.kept
	var whys []string
	by := map[string][]string{}
	for _, name := range l.order {
		g := l.settings[name]
		why := g.why
		switch g.fate {
		case translated:
			continue
		case idle:
			kept = append(kept, g.kept())
		case refused:
			if !(g.key && len(g.values) == 0 || len(g.values) == 1 && slices.Contains(g.harmless, g.values[0])) {
				return nil, fmt.Errorf("%s: %s", g.text(), g.why)
			}
			if g.preset {
				continue
			}
			why = "what ptc does in any case"
			kept = append(kept, g.kept())
		}
		if by[why] == nil {
			whys = append(whys, why)
		}
		by[why] = append(by[why], g.text())
	}
	for _, why := range whys {
		l.notes = append(l.notes, Note{strings.Join(by[why], ", "), why})
	}
	return kept, nil
}

// drop forgets a setting.
func (l *line) drop(name string) {
	delete(l.settings, name)
	l.order = slices.DeleteFunc(l.order, func(n string) bool { return n == name })
}

// has reports whether a setting was given.
func (l *line) has(name string) bool {
	l.read[name] = true
	_, ok := l.settings[name]
	return ok
}

// str is the value of a setting, or what holds without it.
func (l *line) str(name, otherwise string) string {
	if !l.has(name) {
		return otherwise
	}
	return l.settings[name].values[0]
}

// integer is the value of a setting, or what holds without it.
func (l *line) integer(name string, otherwise int) int {
	n, err := strconv.Atoi(l.str(name, strconv.Itoa(otherwise)))
	if err != nil { // check has seen the value
		return otherwise
	}
	return n
}

// float is the value of a setting, or what holds without it.
func (l *line) float(name string, otherwise float64) float64 {
	if !l.has(name) {
		return otherwise
	}
	x, err := strconv.ParseFloat(l.str(name, ""), 64)
	if err != nil { // check has seen the value
		return otherwise
	}
	return x
}

// on is the value of a key that is true or false, or what holds without it.
func (l *line) on(name string, otherwise bool) bool {
	return l.str(name, strconv.FormatBool(otherwise)) == "true"
}

// text is a setting as it was given, or its default.
func (l *line) text(name string, otherwise any) string {
	if g, ok := l.settings[name]; ok {
		return g.text()
	}
	if l.keys {
		return fmt.Sprintf("%s = %v by default", name, otherwise)
	}
	if as := l.names[name]; as != "" {
		return fmt.Sprintf("%s=%v by default", as, otherwise)
	}
	return fmt.Sprintf("--%s %v by default", name, otherwise)
}

// positive is the value of a count, which is at least 1 and at most 2^31 − 1.
func (l *line) positive(name string, otherwise int) int {
	n := l.integer(name, otherwise)
	if l.has(name) && (n < 1 || n > math.MaxInt32) {
		l.errs = append(l.errs, fmt.Errorf("%s: expected a number from 1 to 2147483647", l.settings[name].text()))
		return max(1, otherwise)
	}
	return n
}

// clash is the error of two settings that contradict each other.
func (l *line) clash(a, b, why string) {
	l.errs = append(l.errs, fmt.Errorf("%s and %s contradict each other: %s", a, b, why))
}

// err is the first thing that is wrong.
func (l *line) err() error {
	if len(l.errs) == 0 {
		return nil
	}
	return l.errs[0]
}
