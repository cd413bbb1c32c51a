package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ptc/cmd/ptc/early"
)

// asMain makes the test binary behave as ptc, for tests that need a process.
const asMain = "PTC_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	arrayBytes = 1 << 20
	if os.Getenv(asMain) != "" {
		main()
	}
	early.Forget() // a test is ended as any process
	os.Exit(m.Run())
}

// result is what a command line did.
type result struct {
	code     int
	out, err string
}

// raw is what no user may see, whatever happened.
var raw = regexp.MustCompile(`goroutine [0-9]+ \[|panic:`)

// ptc runs a command line in this process.
func ptc(t *testing.T, args ...string) result {
	t.Helper()
	return ptcIn(t, "", args...)
}

func ptcIn(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, errw bytes.Buffer
	a := &app{in: strings.NewReader(stdin), out: &out, err: &errw}
	code := a.execute(context.Background(), args)
	r := result{code, out.String(), errw.String()}
	if raw.MatchString(r.out + r.err) {
		t.Errorf("ptc %s: a panic reached the user:\n%s", strings.Join(args, " "), r.err)
	}
	return r
}

// must runs a command line that has to succeed.
func must(t *testing.T, args ...string) result {
	t.Helper()
	r := ptc(t, args...)
	if r.code != exitOK {
		t.Fatalf("ptc %s: exit code %d\n%s", strings.Join(args, " "), r.code, r.err)
	}
	return r
}

// project is the starter project with a text of its own, in a new folder that
// is the current one, and settings that make its plans small.
func project(t *testing.T) (small []string) {
	t.Helper()
	t.Chdir(t.TempDir())
	must(t, "new", "p")
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "line %d of a text that has some order, %d\n", i, i*i%7)
	}
	write(t, "text.txt", text.String())
	write(t, "more.txt", text.String()+"and a second file, since one is held out\n")
	corpus, err := filepath.Abs("*.txt")
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--set", "batch=4", "--set", "hidden=16", "--set", "steps=6", "--set", "corpus=" + corpus}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// with is a command line with further arguments.
func with(args []string, more ...string) []string {
	return append(more, args...)
}

func TestExitCodes(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q")...)
	plan := read(t, "a.bin")
	write(t, "cut.bin", plan[:1000])
	flipped := []byte(plan)
	flipped[len(flipped)/2] ^= 0x10
	write(t, "flipped.bin", string(flipped))
	write(t, "empty.bin", "")
	source := read(t, "p/model.ptl")
	write(t, "empty.ptl", "")
	write(t, "cut.ptl", source[:len(source)/2])
	write(t, "bytes.ptl", "\x00\xff\xfe\x01 layout {{{ \x7f")
	write(t, "axis.ptl", strings.Replace(source, "over = hidden", "over = hiden", 1))
	write(t, "bad.ptir", "ptir 1 global \"x\"\nfunc @f(")
	write(t, "weights", "not safetensors at all")
	write(t, "long.ptl", "")
	if err := os.Truncate("long.ptl", maxSource+1); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		code int
		say  string // in the standard error
		args []string
	}{
		{0, "", []string{"--help"}},
		{0, "", []string{"help", "run"}},
		{0, "", []string{"version"}},
		{0, "", []string{"explain", "a.bin"}},

		{1, "axis.ptl:30:", []string{"compile", "axis.ptl"}},
		{1, "did you mean `hidden`?", []string{"compile", "axis.ptl"}},
		{1, "cut.ptl:", []string{"compile", "cut.ptl"}},
		{1, "bytes.ptl:1:", []string{"compile", "bytes.ptl"}},
		{1, "empty.ptl:1:1", []string{"compile", "empty.ptl"}},
		{1, "did you mean `hidden`?", []string{"compile", "p/model.ptl", "--set", "hiden=3"}},
		{1, "whole number", []string{"compile", "p/model.ptl", "--set", "hidden=many"}},
		{1, "override", []string{"compile", "p/model.ptl", "--set", "hidden"}},
		{1, "hidden", []string{"compile", "p/model.ptl", "--set", "hidden=-1"}},
		{1, "no such file", []string{"compile", "nowhere.ptl"}},
		{1, "`ptc verify a.bin --sources` prints its sources", []string{"compile", "a.bin"}},
		{1, "cannot read a.bin: it is a plan", []string{"opt", "a.bin"}},
		{1, "cannot read p:", []string{"compile", "p"}},
		{1, "longer than", []string{"compile", "long.ptl"}},
		{1, "a character device, and a regular file is expected", []string{"compile", "/dev/zero"}},
		{1, "single", []string{"compile", "p/model.ptl", "--layout", "double"}},
		{1, "unknown target", []string{"compile", "p/model.ptl", "--target", "abacus"}},
		{1, "but GPUs of NVIDIA, which `cuda` is for", []string{"compile", "p/model.ptl", "--target", "rocm"}},
		{1, "E0701", []string{"compile", "p/model.ptl", "--target", "cpu:foo"}},
		{1, "did you mean `cpu:x86-64-v3`?", []string{"compile", "p/model.ptl", "--target", "cpu:x86-64-v33"}},
		{1, "did you mean `cuda:sm_90a`?", []string{"compile", "p/model.ptl", "--target", "cuda:sm_90"}},
		{1, "did you mean `cuda:sm_90a`?", []string{"compile", "p/model.ptl", "--target", "sm_90a"}},
		{1, "PTX for sm_80, `cuda:sm_80`, runs on it as well", []string{"compile", "p/model.ptl", "--target", "cuda:sm_86"}},
		{1, "axis.ptl:30:", []string{"check", "axis.ptl"}},
		{1, "bad.ptir:", []string{"opt", "bad.ptir"}},
		{1, "no such file", []string{"opt", "nowhere.ptir"}},
		{1, "cut.ptl:", []string{"fmt", "cut.ptl"}},
		{1, "no such file", []string{"fmt", "nowhere.ptl"}},
		{1, "not empty", []string{"new", "p"}},
		{1, "not a directory", []string{"new", "a.bin"}},

		{2, "unknown flag: --no-such-flag", []string{"compile", "--no-such-flag"}},
		{2, "did you mean `compile`?", []string{"compil"}},
		{2, "unknown command", []string{"help", "compil"}},
		{2, "usage: ptc compile FILE", []string{"compile"}},
		{2, "unexpected argument `b`", []string{"run", "a.bin", "b"}},
		{2, "did you mean `fuse`?", []string{"compile", "p/model.ptl", "--print-after", "fuze"}},
		{2, "usage: ptc run PLAN", []string{"run", "a.bin", "--log", "xml"}},
		{2, "at least 1", []string{"run", "a.bin", "--steps", "0"}},
		{2, "at least 1", []string{"run", "a.bin", "--steps", "-3"}},
		{2, "at least 1", []string{"run", "a.bin", "--threads", "0"}},
		{2, "--checkpoint", []string{"run", "a.bin", "--resume"}},
		{2, "--checkpoint", []string{"run", "a.bin", "--every", "2"}},
		{2, "--checkpoint", []string{"run", "a.bin", "--keep", "2"}},
		{2, "--keep is -1, but must be at least 0", []string{"run", "a.bin", "--keep", "-1"}},
		{2, "--eval-every is -2, but must be at least 0", []string{"run", "a.bin", "--eval-every", "-2"}},
		{2, "--profile=FILE", []string{"run", "a.bin", "--profile", "b"}},
		{2, "expected a file", []string{"run", "a.bin", "--profile="}},
		{2, "usage: ptc run PLAN", []string{"run", "a.bin", "--blas", "mkl"}},
		{2, "--blas lt needs a plan for GPUs, but this one is for ", []string{"run", "a.bin", "--blas", "lt"}},
		{2, "--threads is 0, but must be at least 1", []string{"bench", "--threads", "0"}},
		{2, "--data is empty", []string{"eval", "a.bin", "--init", "weights", "--data", ""}},
		{2, "--threads is -3, but must be at least 1", []string{"eval", "a.bin", "--init", "weights", "--threads", "-3"}},
		{2, "--require", []string{"doctor", "--require", "luck"}},
		{2, "quiet", []string{"compile", "p/model.ptl", "-q", "-v"}},

		{3, "cannot be used: nowhere.json: no such file", []string{"data", "prepare", "p/README.md", "--tokenizer", "nowhere.json", "-o", "tokens"}},
		{3, "cut off", []string{"run", "cut.bin"}},
		{3, "damaged", []string{"run", "flipped.bin"}},
		{3, "not a ptc plan", []string{"run", "empty.bin"}},
		{3, "not a ptc plan", []string{"explain", "p/README.md"}},
		{3, "ptc compile p/model.ptl", []string{"eval", "p/model.ptl", "--init", "weights"}},
		{3, "no such file", []string{"run", "nowhere.bin"}},
		{3, "weights", []string{"run", "a.bin", "--steps", "1", "--init", "weights"}},
		{3, "", []string{"run", "a.bin", "--steps", "1", "--checkpoint", "none", "--resume"}},
		{3, "", []string{"run", "a.bin", "--steps", "1", "--save", "no/such/folder/x"}},
		{3, "no/such/folder/x", []string{"run", "a.bin", "--steps", "1", "--profile=no/such/folder/x"}},
		{3, "cannot write", []string{"compile", "p/model.ptl", "-o", "no/such/folder/x.bin"}},
		{3, "cannot write a.bin", []string{"compile", "p/model.ptl", "--dump-ir", "a.bin"}},
	} {
		r := ptc(t, c.args...)
		line := "ptc " + strings.Join(c.args, " ")
		if r.code != c.code {
			t.Errorf("%s: exit code %d, expected %d\n%s", line, r.code, c.code, r.err)
		}
		if !strings.Contains(r.err, c.say) {
			t.Errorf("%s: the standard error lacks %q:\n%s", line, c.say, r.err)
		}
		if (c.code == exitOK) != (r.err == "") {
			t.Errorf("%s: exit code %d with this on the standard error: %q", line, r.code, r.err)
		}
	}
}

func TestErrorsLeaveNoFile(t *testing.T) {
	small := project(t)
	source := read(t, "p/model.ptl")
	write(t, "p/model.ptl", strings.Replace(source, "over = hidden", "over = hiden", 1))
	before := listing(t)
	if r := ptc(t, with(small, "compile", "p/model.ptl", "-o", "z.bin")...); r.code != exitInput {
		t.Fatalf("exit code %d\n%s", r.code, r.err)
	}
	if after := listing(t); after != before {
		t.Errorf("files before:\n%s\nand after:\n%s", before, after)
	}
}

func listing(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, "\n")
}

// TestErrorsNameFilesAsTheUserDoes: the plan knows sources from the main file's
// folder, the user from where they are.
func TestErrorsNameFilesAsTheUserDoes(t *testing.T) {
	project(t)
	main := read(t, "p/model.ptl")
	if err := os.Mkdir("p/parts", 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, "p/model.ptl", strings.Replace(main, "import std.nn", "import \"parts/extra.ptl\"\nimport std.nn", 1))
	write(t, "p/parts/extra.ptl", "module {\n")
	r := ptc(t, "compile", "p/model.ptl")
	if r.code != exitInput || !strings.Contains(r.err, "--> p/parts/extra.ptl:1:") || !strings.Contains(r.err, "1 | module {") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
	write(t, "p/model.ptl", strings.Replace(main, "nn.cross_entropy(Next(tokens), targets, over = vocab)", "nn.cross_entropy(Next(tokens))", 1))
	r = ptc(t, "compile", "p/model.ptl")
	if r.code != exitInput || !strings.Contains(r.err, "--> p/model.ptl:") || strings.Contains(r.err, "p/std/") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
}

func TestAFaultOfOursSaysWhatToReport(t *testing.T) {
	var out, errw bytes.Buffer
	a := &app{out: &out, err: &errw}
	code := func() (code int) {
		defer func() {
			if p := recover(); p != nil {
				code = a.reportPanic(p, []string{"compile", "x.ptl"})
			}
		}()
		var none *fault
		return none.code
	}()
	if code != exitBug {
		t.Errorf("exit code %d", code)
	}
	text := errw.String()
	for _, want := range []string{"internal error: ", "nil pointer", "ptc compile x.ptl", versionLine(), "main_test.go:"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	if raw.MatchString(text) {
		t.Errorf("the report looks like a panic:\n%s", text)
	}
}

// TestHelp: every command explains itself, with an example.
func TestHelp(t *testing.T) {
	for _, g := range commands(&app{}) {
		for _, c := range g.cmds {
			if c.Short == "" || c.Long == "" || c.Example == "" || c.Args == nil {
				t.Errorf("%s: help is not complete", c.Name())
			}
			r := must(t, c.Name(), "--help")
			if !strings.Contains(r.out, "ptc "+c.Use+"\n") || !strings.Contains(r.out, c.Example) {
				t.Errorf("ptc %s --help lacks its usage or examples:\n%s", c.Name(), r.out)
			}
		}
	}
}

func TestCompletion(t *testing.T) {
	project(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"compile", "p/model.ptl", "--layout", ""}, "single\n"},
		{[]string{"compile", "--target", ""}, "cpu:x86-64-v3\n"},
		{[]string{"compile", "--print-after", ""}, "autodiff\n"},
		{[]string{"opt", "--passes", ""}, "memory\n"},
		{[]string{"run", "--log", ""}, "json\n"},
		{[]string{"run", "--log", ""}, "tb:\n"},
		{[]string{"doctor", "--require", ""}, "llvm\n"},
	} {
		r := ptc(t, append([]string{"__complete"}, c.args...)...)
		if !strings.Contains(r.out, c.want) {
			t.Errorf("%v: %q is not offered in\n%s", c.args, c.want, r.out)
		}
	}
	if r := must(t, "completion", "bash"); !strings.Contains(r.out, "complete") {
		t.Error("no completion script for bash")
	}
}
