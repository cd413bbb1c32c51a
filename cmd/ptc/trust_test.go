package main

import (
	"os"
	"strings"
	"testing"

	"ptc/runtime/program"
)

// replaceOther writes plan a.bin with everything that runs taken from plan b.bin:
// a file with the sources of one program and the code of another.
func replaceOther(t *testing.T, a, b, out string) {
	t.Helper()
	sources, err := program.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	other, err := program.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	other.Sources, other.Config = sources.Sources, sources.Config
	writePlan(t, out, other)
}

// toldLosses are the lines of the steps of a run, without times.
func toldLosses(t *testing.T, args ...string) string {
	t.Helper()
	var out []string
	for _, line := range strings.Split(must(t, args...).out, "\n") {
		if _, rest, ok := strings.Cut(line, `"event":"step"`); ok {
			out = append(out, rest[:strings.Index(rest, `"ms"`)])
		}
	}
	if len(out) == 0 {
		t.Fatal("no step was told")
	}
	return strings.Join(out, "\n")
}

// TestRebuildRunsNoCodeOfThePlan: a plan with the code of another program runs
// that code, and with --rebuild what its sources say, without any other file.
func TestRebuildRunsNoCodeOfThePlan(t *testing.T) {
	small := project(t)
	for name, more := range map[string][]string{"a.bin": nil, "b.bin": {"--set", "hidden=24"}} {
		args := append(with(small, "compile", "p/model.ptl", "-q", "--target", "ref", "-o", name), more...)
		must(t, args...)
	}
	replaceOther(t, "a.bin", "b.bin", "mixed.bin")
	if err := os.RemoveAll("p"); err != nil { // the sources: the plan has them
		t.Fatal(err)
	}
	run := func(plan string, more ...string) string {
		return toldLosses(t, append([]string{"run", plan, "--steps", "3", "--log", "json"}, more...)...)
	}
	a, b := run("a.bin"), run("b.bin")
	if a == b {
		t.Fatal("the two programs have the same losses")
	}
	if run("mixed.bin") != b {
		t.Error("a plan does not run its code")
	}
	for _, flag := range []string{"--rebuild", "--no-native"} {
		if got := run("mixed.bin", flag); got != a {
			t.Errorf("%s: losses\n%s\nand the sources give\n%s", flag, got, a)
		}
	}
}

func TestVerify(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-q", "--target", "ref", "-o", "a.bin")...)
	must(t, append(with(small, "compile", "p/model.ptl", "-q", "--target", "ref", "-o", "b.bin"), "--set", "hidden=24")...)
	replaceOther(t, "a.bin", "b.bin", "mixed.bin")
	edit := func(out string, change func(p *program.Plan)) {
		p, err := program.ReadFile("a.bin")
		if err != nil {
			t.Fatal(err)
		}
		change(p)
		writePlan(t, out, p)
	}
	edit("version.bin", func(p *program.Plan) { p.Compiler = "0.0.9" })
	edit("code.bin", func(p *program.Plan) { p.Code[0].Data = append([]byte("// \n"), p.Code[0].Data...) })
	edit("nothing.bin", func(p *program.Plan) { p.Sources = nil })
	edit("broken.bin", func(p *program.Plan) { p.Sources[0].Text = "model {" })
	edit("target.bin", func(p *program.Plan) { p.Target = "gpu:unknown" })
	if r := must(t, "verify", "a.bin"); !strings.Contains(r.out, "what its sources compile to") {
		t.Errorf("said %q", r.out)
	}
	edit("escape.bin", func(p *program.Plan) { p.Sources[0].Text = "// \x1b[2J\n" + p.Sources[0].Text })
	if r := ptc(t, "verify", "escape.bin", "--sources"); !strings.Contains(r.out, `// config hidden = "16"`) ||
		!strings.Contains(r.out, `// ---- "model.ptl"`) || strings.Contains(r.out, "\x1b") || strings.Contains(r.out, "std/nn.ptl") {
		t.Errorf("sources:\n%q", r.out)
	}
	for _, c := range []struct{ plan, say string }{
		{"mixed.bin", "the code"},
		{"code.bin", "is not what its sources compile to; different: the code\n"},
		{"version.bin", "cannot be compared byte for byte: the plan was made by ptc 0.0.9"},
		{"nothing.bin", "E0231"},
		{"broken.bin", "error["},
		{"target.bin", "gpu:unknown"},
		{"missing.bin", "missing.bin"},
		{"text.txt", "text.txt"},
	} {
		r := ptc(t, "verify", c.plan)
		if r.code != exitFile || !strings.Contains(r.err, c.say) {
			t.Errorf("%s: exit code %d, want 3 and %q\n%s", c.plan, r.code, c.say, r.err)
		}
	}
	for _, flag := range []string{"--rebuild", "--no-native"} {
		if r := ptc(t, "run", "broken.bin", flag); r.code != exitFile {
			t.Errorf("run %s of a plan with broken sources: exit code %d\n%s", flag, r.code, r.err)
		}
	}
}

// TestSignedPlans: --trust and PTC_TRUST take a plan that a key of theirs signed,
// and no other.
func TestSignedPlans(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-q", "--target", "ref", "-o", "a.bin")...)
	must(t, "sign", "--new-key", "my.key") // an empty standard input is an empty password
	must(t, "sign", "--new-key", "other.key")
	if st, err := os.Stat("my.key"); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the secret key has the mode %v (%v)", st.Mode(), err)
	}
	run := func(more ...string) result {
		return ptc(t, append([]string{"run", "a.bin", "--steps", "1"}, more...)...)
	}
	refused := func(say string, more ...string) {
		t.Helper()
		if r := run(more...); r.code != exitFile || !strings.Contains(r.err, say) || strings.Contains(r.out, "step") {
			t.Errorf("%v: exit code %d, want 3 and %q\n%s%s", more, r.code, say, r.out, r.err)
		}
	}
	refused("there is no a.bin.minisig", "--trust", "my.key.pub")
	must(t, "sign", "a.bin", "--key", "my.key")
	if r := run("--trust", "my.key.pub"); r.code != exitOK {
		t.Errorf("a signed plan: exit code %d\n%s", r.code, r.err)
	}
	if r := run("--trust", ".", "--no-native"); r.code != exitOK {
		t.Errorf("a folder of keys: exit code %d\n%s", r.code, r.err)
	}
	refused("which is not trusted", "--trust", "other.key.pub")
	refused("which is not trusted", "--trust", "other.key.pub", "--rebuild")
	refused("no public key", "--trust", "p")
	refused("missing", "--trust", "missing")
	t.Setenv(trustVar, "other.key.pub")
	refused("which is not trusted")
	t.Setenv(trustVar, "my.key.pub")
	must(t, append(with(small, "compile", "p/model.ptl", "-q", "--target", "ref", "-o", "a.bin"), "--set", "hidden=24")...)
	refused("does not match the file")

	for _, c := range []struct {
		code int
		args []string
	}{
		{exitUsage, []string{"sign", "a.bin"}},
		{exitUsage, []string{"sign"}},
		{exitUsage, []string{"sign", "a.bin", "--new-key", "x"}},
		{exitFile, []string{"sign", "--new-key", "my.key"}},
		{exitFile, []string{"sign", "a.bin", "--key", "my.key.pub"}},
		{exitFile, []string{"sign", "a.bin", "--key", "missing"}},
		{exitFile, []string{"sign", "text.txt", "--key", "my.key"}},
	} {
		if r := ptc(t, c.args...); r.code != c.code {
			t.Errorf("ptc %v: exit code %d, want %d\n%s", c.args, r.code, c.code, r.err)
		}
	}
}

// writePlan seals a plan again, as whoever changes one can.
func writePlan(t *testing.T, path string, p *program.Plan) {
	t.Helper()
	data, err := program.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(data))
}
