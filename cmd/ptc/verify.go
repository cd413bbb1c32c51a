package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"ptc/compiler"
	"ptc/internal/units"
	"ptc/runtime/program"
)

func newVerify(a *app) *cobra.Command {
	var sources bool
	cmd := &cobra.Command{
		Use:   "verify PLAN [--sources]",
		Short: "Compare a plan with what its sources compile to",
		Long: `Compile the sources in a plan, with its config and layout, for its target, and compare
the result with the plan, byte for byte. Only the plan is read, and none of it is run.

Exit code 0: they are equal, so the plan does what its sources say. Exit code 3: they
differ, and the message says where. Another version of ptc or of LLVM generates
different code from the same sources. The code then cannot be compared, the message
says so, and the exit code is 3 as well. "ptc run --rebuild" needs no such comparison.

Read the sources, which --sources prints, to see whether they, and the data that they
name, are what you want.`,
		Example: `  ptc verify plan.bin && ptc run plan.bin
  ptc verify plan.bin --sources | less`,
		Args:              exactly("PLAN"),
		ValidArgsFunction: completeFiles("bin"),
		RunE:              func(_ *cobra.Command, args []string) error { return a.verify(args[0], sources) },
	}
	cmd.Flags().BoolVar(&sources, "sources", false, "first print the config and the user's sources in the plan")
	return cmd
}

// sourcesOf is what a plan holds of what its user wrote: the config as it was
// set, and the files.
func sourcesOf(p *program.Plan) string {
	var b strings.Builder
	for _, kv := range p.Config {
		fmt.Fprintf(&b, "// config %s = %s\n", kv.Key, strconv.Quote(kv.Value))
	}
	for _, s := range p.Sources {
		if strings.HasPrefix(s.Name, "std/") && compiler.IsLibrary(s.Name, s.Text) {
			continue
		}
		fmt.Fprintf(&b, "// ---- %s\n%s\n", strconv.Quote(s.Name), visible(s.Text))
	}
	return b.String()
}

// visible replaces what a terminal would act on instead of showing it.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

func (a *app) verify(path string, sources bool) error {
	plan, data, err := program.Read(path)
	if err != nil {
		return fileError(err)
	}
	if sources {
		if err := a.print(sourcesOf(plan)); err != nil {
			return err
		}
	}
	again, err := rebuilt(path, plan, "")
	if err != nil {
		return err
	}
	same, err := program.Encode(again)
	if err != nil {
		return err // the compiler made an invalid plan
	}
	if bytes.Equal(data, same) {
		return a.print(fmt.Sprintf("%s: its %s are what its sources compile to, for %s\n", path, units.Bytes(int64(len(data))), plan.Target))
	}
	if again, err = program.Decode(same); err != nil {
		return err
	}
	return fileError(differ(path, plan, again))
}

// differ says in what a plan is not the one that its sources give. The versions
// come first: where they differ, the code proves nothing.
func differ(path string, plan, again *program.Plan) error {
	var versions, parts []string
	if plan.Compiler != again.Compiler {
		versions = append(versions, fmt.Sprintf("the plan was made by ptc %s and this is %s", orNone(plan.Compiler), again.Compiler))
	}
	if plan.LLVM != again.LLVM {
		versions = append(versions, fmt.Sprintf("its code is by LLVM %s and here it is %s", orNone(plan.LLVM), orNone(again.LLVM)))
	}
	for _, d := range compiler.Differences(plan, again) {
		if !strings.HasPrefix(d, "the version of") {
			parts = append(parts, d)
		}
	}
	what := "different: " + strings.Join(parts, ", ")
	if len(parts) == 0 {
		what = "every part is equal"
		if len(versions) == 0 {
			what += ", and only the encoding differs"
		}
	}
	if len(versions) > 0 {
		return fmt.Errorf("%s cannot be compared byte for byte: %s; of the rest, %s", path, strings.Join(versions, ", "), what)
	}
	return fmt.Errorf("%s is not what its sources compile to; %s", path, what)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
