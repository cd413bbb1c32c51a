package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ptc/foresight/machine"
	"ptc/internal/units"
)

func newMachine(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "machine COMMAND",
		Short: "Describe machines, to predict what plans cost on them",
		Long: `Describe machines, to predict what plans cost on them. A description is a .ptm file
in the language of ptc: devices, hosts and levels of links, with a source for each
number. Some come with ptc, and ptc measures this host.`,
		Example: `  ptc machine show
  ptc machine show h100 > mine.ptm
  ptc machine check mine.ptm
  ptc machine calibrate -o here.ptm`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, c := range []*cobra.Command{newMachineShow(a), newMachineCheck(a), newMachineCalibrate(a)} {
		c.DisableFlagsInUseLine = true
		c.RunE = started(c.RunE)
		cmd.AddCommand(c)
	}
	return cmd
}

func newMachineShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show [NAME]",
		Short: "Print the file of a machine, or list those that come with ptc",
		Long: `Print the file of a machine that comes with ptc: the start of a description of your
own. Without a name, list them.`,
		Example: `  ptc machine show
  ptc machine show h100 > mine.ptm`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("unexpected argument `%s`", args[1])
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return machine.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listMachines()
			}
			text, err := machine.Source(args[0])
			if err != nil {
				return compileError(err, nil)
			}
			return a.print(text)
		},
	}
}

func newMachineCheck(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "Check files of machines",
		Long: `Check .ptm files: every entry known, every number with a unit, in range and with a
source, every level complete. Print a summary of each; exit code 1 if any has a
mistake. "-" is the standard input.`,
		Example: `  ptc machine check mine.ptm
  ptc machine show h100 | ptc machine check -`,
		Args:              oneOrMore("FILE"),
		ValidArgsFunction: completeFiles("ptm"),
		RunE: func(_ *cobra.Command, args []string) error {
			var failed error // a file with mistakes does not keep the others from being checked
			for _, path := range args {
				m, err := a.readMachine(path)
				if err == nil {
					err = a.print(summary(m))
				}
				if err != nil {
					a.note(failed)
					failed = err
				}
			}
			return failed
		},
	}
}

// readMachine reads a .ptm file.
func (a *app) readMachine(path string) (*machine.Machine, error) {
	text, err := a.readText(path, maxSource)
	if err != nil {
		return nil, err
	}
	m, errs := machine.Load(path, text)
	if len(errs) > 0 {
		return nil, compileError(errs, oneSource(path, text))
	}
	return m, nil
}

func (a *app) listMachines() error {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tmachine\tlevels, outermost first")
	for _, name := range machine.Names() {
		m, err := machine.Named(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", name, m.Title, levels(m))
	}
	w.Flush() // a strings.Builder takes everything
	return a.print(b.String())
}

// levels are the levels of a machine as a command names their sizes: "pods x fabric x node (8)".
func levels(m *machine.Machine) string {
	var out []string
	for _, l := range m.Levels {
		text := l.Name
		if l.Ranks > 0 {
			text += fmt.Sprintf(" (%d)", l.Ranks)
		}
		out = append([]string{text}, out...)
	}
	if len(out) == 0 {
		return "one device"
	}
	return strings.Join(out, " x ")
}

// summary is what a machine is, in two lines.
func summary(m *machine.Machine) string {
	d := m.Device
	best, peak := "", 0.0
	for t, p := range d.Peak {
		if p.Value > peak || p.Value == peak && t < best {
			best, peak = t, p.Value
		}
	}
	return fmt.Sprintf("%s: %s; %s\n  %s at most (%s), %s of memory at %s; %s\n", m.Name, m.Title, levels(m),
		units.Count(peak, "FLOP/s"), best, units.Bytes(int64(d.Memory.Value)), units.Count(d.Bandwidth.Value, "B/s"), estimates(m))
}

// estimates says how many of the machine's numbers are estimates, by their sources.
func estimates(m *machine.Machine) string {
	guessed := 0
	for _, s := range m.Sources {
		if strings.HasPrefix(s, "estimate") {
			guessed++
		}
	}
	return fmt.Sprintf("%s, %d of them estimated", units.Plural(len(m.Sources), "number"), guessed)
}
