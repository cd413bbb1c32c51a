package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"ptc/foresight/machine"
)

// TestMachine: what show prints is a file that check and fmt accept, and one number in it that is wrong is an error.
func TestMachine(t *testing.T) {
	t.Chdir(t.TempDir())
	list := must(t, "machine", "show").out
	for _, name := range machine.Names() {
		if !strings.Contains(list, "\n"+name+" ") {
			t.Errorf("the list has no %s:\n%s", name, list)
		}
		write(t, name+".ptm", must(t, "machine", "show", name).out)
		must(t, "fmt", "--check", name+".ptm")
	}
	r := must(t, "machine", "check", "h100.ptm", "a100_80.ptm")
	for _, want := range []string{"h100: NVIDIA H100 SXM, 80 GB; pods x fabric x node (8)\n", "1.98 PFLOP/s at most (f8e4m3), 79.6 GiB of memory at 3.35 TB/s", "a100_80: "} {
		if !strings.Contains(r.out, want) {
			t.Errorf("check prints\n%s\nwithout %q", r.out, want)
		}
	}
	right := read(t, "h100.ptm")
	if r := ptcIn(t, right, "machine", "check", "-"); r.code != exitOK {
		t.Errorf("from the standard input: exit code %d\n%s", r.code, r.err)
	}
	first := func(pattern, by string) string {
		at := regexp.MustCompile(pattern).FindStringIndex(right)
		return right[:at[0]] + by + right[at[1]:]
	}
	for _, c := range []struct{ text, want string }{
		{first(` +from "[^"]*"`, ""), "E0803"},
		{first(`= *[0-9][0-9.]*`, "= 1e999"), "E0108"},
		{first(`= *[0-9]`, "= -1"), "E0805"},
		{"", "E0109"},
		{strings.Repeat(" ", 2<<20), "E0110"},
	} {
		write(t, "wrong.ptm", c.text)
		r := ptc(t, "machine", "check", "wrong.ptm", "a100_80.ptm")
		if r.code != exitInput || !strings.Contains(r.err, c.want) || !strings.Contains(r.err, "wrong.ptm") || !strings.Contains(r.out, "a100_80: ") {
			t.Errorf("exit code %d, want %s:\n%s%s", r.code, c.want, r.out, r.err)
		}
	}
	if r := ptc(t, "machine", "show", "h1000"); r.code != exitInput || !strings.Contains(r.err, "did you mean `h100`?") {
		t.Errorf("an unknown machine: exit code %d\n%s", r.code, r.err)
	}
	if r := ptc(t, "machine", "show", "h100", "h200"); r.code != exitUsage {
		t.Errorf("two machines: exit code %d\n%s", r.code, r.err)
	}
}

// TestHugeMachine: a file of 100 MiB is refused before all of it is read.
func TestHugeMachine(t *testing.T) {
	t.Chdir(t.TempDir())
	f, err := os.Create("huge.ptm")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(100 << 20); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if r := ptc(t, "machine", "check", "huge.ptm"); r.code != exitInput || !strings.Contains(r.err, "longer than 16.0 MiB") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
}

// TestMachineIsNoModel: a machine in a model's file is an error that says where it belongs.
func TestMachineIsNoModel(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "m.ptl", must(t, "machine", "show", "host").out)
	if r := ptc(t, "compile", "m.ptl", "--target", "ref"); r.code != exitInput || !strings.Contains(r.err, "E0221") || !strings.Contains(r.err, "host.ptm") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
}
