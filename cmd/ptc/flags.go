package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ptc/compiler"
	"ptc/internal/diag"
	"ptc/internal/regular"
	"ptc/runtime/native"
	"ptc/runtime/program"
)

// choice is a flag that takes one of some words; any other is a mistake in the
// command line.
type choice struct {
	value string
	words []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return "word" }

func (c *choice) Set(s string) error {
	if slices.Contains(c.words, s) {
		c.value = s
		return nil
	}
	err := fmt.Errorf("expected %s", diag.OneOf(c.words))
	if hint := diag.DidYouMean(s, c.words); hint != "" {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	return err
}

// flagError says what a flag expects where its value is none of that: of numbers, truths and
// durations the message would else be that of Go's parsers.
func flagError(_ *cobra.Command, err error) error {
	var value interface {
		GetValue() string
		Unwrap() error
	}
	if !errors.As(err, &value) {
		return err // the flag itself is unknown, or has no value
	}
	cause := value.Unwrap()
	if want := expected(cause); want != "" {
		return fmt.Errorf("%s%s", strings.TrimSuffix(err.Error(), cause.Error()), want)
	}
	return err
}

// expected says what a parser of Go's would have taken; empty for errors of others.
func expected(cause error) string {
	var number *strconv.NumError
	if !errors.As(cause, &number) {
		if strings.HasPrefix(cause.Error(), "time: ") { // its errors have no type
			return "expected a duration, such as 90s, 5m or 1h30m"
		}
		return ""
	}
	want := map[string]string{"ParseInt": "a whole number", "Atoi": "a whole number", "ParseUint": "a whole number from 0",
		"ParseFloat": "a number", "ParseBool": "true or false"}[number.Func]
	switch {
	case want == "":
		return ""
	case errors.Is(number, strconv.ErrRange):
		return "expected " + want + ", and `" + number.Num + "` is too large"
	case len(number.Num) > 1 && strings.Trim(number.Num, "0123456789") == "": // digits that are refused are read in base 8
		return "expected " + want + " without a 0 in front"
	}
	return "expected " + want + ", found `" + number.Num + "`"
}

// emptyFlags refuses a flag for a file, a folder or an address that is given and empty, as an unset variable of a
// script makes it: it would be as if it were not given.
func emptyFlags(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		name, _ := pflag.UnquoteUsage(f)
		if err == nil && f.Value.Type() == "string" && f.Value.String() == "" && slices.Contains([]string{"FILE", "DIR", "OUT", "PLAN", "PLACE", "ADDR", "KEYS", "KEY"}, name) {
			err = usagef("--%s is empty: give a %s, or omit the flag", f.Name, name)
		}
	})
	return err
}

// checkThreads holds --threads to its bounds, before anything is read or compiled.
func checkThreads(cmd *cobra.Command, n int) error {
	switch {
	case cmd.Flags().Changed("threads") && n < 1:
		return usagef("--threads is %d, but must be at least 1", n)
	case n > native.MaxThreads:
		return usagef("--threads is %d, but must be at most %d", n, native.MaxThreads)
	}
	return nil
}

// exactly asks for one argument for each name.
func exactly(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return fmt.Errorf("%s is missing", names[len(args)])
		case len(args) > len(names):
			return fmt.Errorf("unexpected argument `%s`", args[len(names)])
		}
		return nil
	}
}

// oneOrMore asks for at least one argument.
func oneOrMore(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s is missing", name)
		}
		return nil
	}
}

// sourceFlags are those of every command that compiles.
type sourceFlags struct {
	set            []string
	layout, target string
	importsBelow   string // a folder; empty for the main file's
	ports          []string
}

// addPorts adds --port, for commands that make one plan.
func (f *sourceFlags) addPorts(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.ports, "port", nil, "let \"ptc run --set\" replace the config entry `NAME`; several with commas")
	complete(cmd, "port", portsIn)
}

func (f *sourceFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "replace the config entry `name=value`; may be repeated")
	cmd.Flags().StringVar(&f.layout, "layout", "", "compile for the layout `NAME` (default the file's first)")
	cmd.Flags().StringVar(&f.target, "target", "", "compile for `TARGET`: cpu, cuda, ref or a full name such as cpu:x86-64-v3\n(default cpu where libLLVM is found, else ref)")
	cmd.Flags().StringVar(&f.importsBelow, "imports-below", "", "imports may be any file below `DIR` (default FILE's folder)")
	if err := cmd.MarkFlagDirname("imports-below"); err != nil {
		panic(err) // the flag does not exist
	}
	complete(cmd, "target", func([]string) []string { return compiler.Targets() })
	complete(cmd, "layout", layoutsIn)
	complete(cmd, "set", settingsIn)
}

func (f *sourceFlags) apply(o *compiler.Options) {
	o.Set, o.Layout, o.Target, o.Ports = f.set, f.layout, f.target, f.ports
}

// complete offers words for a flag in the shell.
func complete(cmd *cobra.Command, flag string, words func(args []string) []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		list, how := words(args), cobra.ShellCompDirectiveNoFileComp
		if len(list) > 0 && strings.HasSuffix(list[0], "=") {
			how |= cobra.ShellCompDirectiveNoSpace
		}
		return list, how
	})
	if err != nil {
		panic(err) // the flag does not exist
	}
}

// completeFiles offers files of a kind for the arguments.
func completeFiles(ext ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return ext, cobra.ShellCompDirectiveFilterFileExt
	}
}

var layoutLine = regexp.MustCompile(`(?m)^\s*layout\s+([A-Za-z_][A-Za-z0-9_]*)`)

// layoutsIn lists the layouts of the file being named, also while it does not
// parse.
func layoutsIn(args []string) []string {
	var names []string
	for _, m := range layoutLine.FindAllSubmatch(named(args), -1) {
		names = append(names, string(m[1]))
	}
	return names
}

// settingsIn lists the config entries of the file being named, each with the sign
// that a value follows.
func settingsIn(args []string) []string {
	var out []string
	for _, n := range compiler.ConfigEntries("main.ptl", named(args)) {
		out = append(out, n+"=")
	}
	return out
}

// portsIn lists the config entries of the file being named.
func portsIn(args []string) []string { return compiler.ConfigEntries("main.ptl", named(args)) }

// portsOf lists the ports of the plan being named, each with the sign that a value follows; none
// where it cannot be read.
func portsOf(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	plan, err := program.ReadFile(args[0])
	if err != nil {
		return nil
	}
	var out []string
	for _, n := range plan.Ports() {
		out = append(out, n+"=")
	}
	return out
}

// named is the text of the file that is the first argument, nothing where it
// cannot be read.
func named(args []string) []byte {
	if len(args) == 0 {
		return nil
	}
	f, err := regular.Open(args[0])
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := regular.ReadAll(f, maxSource)
	if err != nil {
		return nil
	}
	return text
}

func passNames() []string {
	var names []string
	for _, p := range compiler.Passes() {
		names = append(names, p.Name)
	}
	return names
}

// dumpName is the file of --dump-ir after a pass.
func dumpName(pass string) string {
	return fmt.Sprintf("%02d-%s.ptir", slices.Index(passNames(), pass)+1, pass)
}

// passTable is the text of the pass table, for help.
func passTable() string {
	var b strings.Builder
	for _, p := range compiler.Passes() {
		level := p.In
		if p.Out != p.In {
			level += " -> " + p.Out
		}
		fmt.Fprintf(&b, "  %-19s %-16s  %s\n", p.Name, level, p.Doc)
	}
	return b.String()
}
