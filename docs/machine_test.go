package docs_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ptc/foresight/machine"
	"ptc/lang/syntax"
)

var update = flag.Bool("update", false, "write the table of entries into machine.md")

// entries is the table of machine.md for a section.
func entries(section string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| entry | value | |\n| --- | --- | --- |\n")
	for _, e := range machine.Entries(section) {
		key := e.Key
		if e.Of != "" {
			key += " " + strings.ToUpper(e.Of)
		}
		if !e.Needed() {
			key += "`, optional"
		} else {
			key += "`"
		}
		fmt.Fprintf(&b, "| `%s | %s | %s |\n", key, e.What(), e.Help)
	}
	return b.String()
}

// TestMachineEntries: machine.md has the table of entries of each section.
func TestMachineEntries(t *testing.T) {
	text := pages(t)["machine.md"]
	for _, section := range []string{"", "device", "host", "level"} {
		heading := "\n### " + section + "\n"
		if section == "" {
			heading = "\n### machine\n"
		}
		head, rest, ok := strings.Cut(text, heading)
		if !ok {
			t.Fatalf("machine.md has no section %q", strings.TrimSpace(heading))
		}
		table := regexp.MustCompile(`(?m)(^\|.*\n)+`).FindStringIndex(rest)
		switch got := rest[table[0]:table[1]]; {
		case got == entries(section):
		case *update:
			text = head + heading + rest[:table[0]] + entries(section) + rest[table[1]:]
		default:
			t.Errorf("the table of %q is\n%s\nwant\n%s\n(go test ./docs -run TestMachineEntries -update writes it)", strings.TrimSpace(heading), got, entries(section))
		}
	}
	if *update {
		if err := os.WriteFile("machine.md", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMachines: machines in the pages are formatted, and those that are complete load; the list of machines is that
// of ptc.
func TestMachines(t *testing.T) {
	complete := 0
	for name, text := range pages(t) {
		for _, m := range regexp.MustCompile("(?s)```ptm\n(.*?)```").FindAllStringSubmatch(text, -1) {
			out, errs := syntax.Format(name, []byte(m[1]))
			if len(errs) > 0 || string(out) != m[1] {
				t.Errorf("%s: a machine is not as ptc fmt has it (%v):\n%s", name, errs, out)
			}
			if !strings.Contains(m[1], "host {") {
				continue
			}
			complete++
			if _, errs := machine.Load(name, []byte(m[1])); len(errs) > 0 {
				t.Errorf("%s: %v", name, errs)
			}
		}
	}
	if complete == 0 {
		t.Error("no page has a complete machine")
	}
	if got := column(pages(t)["machine.md"], "## Machines in ptc", "`\\w+`"); !slices.Equal(got, quoted(machine.Names())) {
		t.Errorf("machine.md lists %v", got)
	}
}

func quoted(names []string) (out []string) {
	for _, n := range names {
		out = append(out, "`"+n+"`")
	}
	return out
}
