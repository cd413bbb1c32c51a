package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"ptc/runtime/data"
)

const wrongSource = `// größe
import std.optim import std.data config { batch = 2 inp = 3 }
model M { /* ä */ param w : [inp] ~ zeros  fn apply(x: [batch, inp]) -> [batch] { return y + z } }
train M { loss = mean(M(x)) optimizer = optim.SGD(lr = 0.1) data = data.synthetic(from = inp, to = inp) }
`

// TestEveryCommandTellsPrograms: whatever the command is, a mistake in its command line is an object too.
func TestEveryCommandTellsPrograms(t *testing.T) {
	var check func(cmd *cobra.Command, path ...string)
	check = func(cmd *cobra.Command, path ...string) {
		r := ptc(t, append([]string{"--diagnostics=json"}, append(path, "--nonsense")...)...)
		var x told
		if err := json.Unmarshal([]byte(r.err), &x); err != nil || r.code != exitUsage || x.Severity != "error" || x.Message != "unknown flag: --nonsense" {
			t.Errorf("%v: exit code %d (%v)\n%s", path, r.code, err, r.err)
		}
		for _, c := range cmd.Commands() {
			check(c, append(path[:len(path):len(path)], c.Name())...)
		}
	}
	check(newRoot(&app{}))
}

// TestDiagnosticsAsJSON: an object on each line, with the range in bytes.
func TestDiagnosticsAsJSON(t *testing.T) {
	project(t)
	write(t, "wrong.ptl", wrongSource)
	for _, args := range [][]string{{"compile", "wrong.ptl", "-o", "x.bin"}, {"check", "wrong.ptl"}} {
		r := ptc(t, append(args, "--diagnostics", "json")...)
		lines := strings.Split(strings.TrimSpace(r.err), "\n")
		if r.code != exitInput || len(lines) < 1 {
			t.Fatalf("%v: exit code %d\n%s", args, r.code, r.err)
		}
		for _, line := range lines {
			var x told
			if err := json.Unmarshal([]byte(line), &x); err != nil || x.Severity != "error" || x.Message == "" || x.Notes == nil {
				t.Errorf("%v: %s", err, line)
			}
		}
		var x told
		if err := json.Unmarshal([]byte(lines[0]), &x); err != nil {
			t.Fatal(err)
		}
		if x.Code != "E0201" || x.place != (place{"wrong.ptl", 3, 91, 3, 92}) || !strings.Contains(x.Message, "`y`") {
			t.Errorf("%s", lines[0])
		}
	}
	if _, err := os.Stat("x.bin"); err == nil {
		t.Error("a plan was written")
	}
	// What has no place has none, and a syntax error of fmt and opt has one.
	for _, c := range []struct{ want, text string }{
		{`"code":"","severity":"error","file":"","line":0`, ptc(t, "compile", "none.ptl", "--diagnostics", "json").err},
		{`"file":"p/model.ptl","line":`, func() string {
			write(t, "p/model.ptl", "model {")
			return ptc(t, "fmt", "p/model.ptl", "--diagnostics=json").err
		}()},
		{`"code":"E0301","severity":"error","file":"wrong.ptl","line":2`, ptc(t, "opt", "wrong.ptl", "--diagnostics", "json").err},
	} {
		if !strings.Contains(c.text, c.want) {
			t.Errorf("no %s in %s", c.want, c.text)
		}
	}
	if r := ptc(t, "compile", "wrong.ptl", "--diagnostics", "xml"); r.code != exitUsage {
		t.Errorf("exit code %d", r.code)
	}
}

// TestDiagnosticsAsSARIF: one document, with columns in characters; also where
// there is nothing to say, and with warnings.
func TestDiagnosticsAsSARIF(t *testing.T) {
	small := project(t)
	write(t, "wrong.ptl", wrongSource)
	var log sarifLog
	if err := json.Unmarshal([]byte(ptc(t, "compile", "wrong.ptl", "--diagnostics", "sarif").err), &log); err != nil {
		t.Fatal(err)
	}
	if len(log.Runs) != 1 || len(log.Runs[0].Results) < 1 || log.Version != "2.1.0" {
		t.Fatalf("%+v", log)
	}
	first := log.Runs[0].Results[0]
	if first.RuleID != "E0201" || first.Level != "error" || first.Locations[0].Physical.Region != (sarifRegion{3, 90, 3, 91}) || first.Locations[0].Physical.Artifact.URI != "wrong.ptl" {
		t.Errorf("%+v", first)
	}
	r := must(t, with(small, "compile", "p/model.ptl", "--target", "ref", "--diagnostics", "sarif")...)
	if err := json.Unmarshal([]byte(r.err), &log); err != nil || len(log.Runs[0].Results) != 0 || !strings.Contains(r.err, `"results": []`) {
		t.Errorf("%v in %s", err, r.err)
	}
}

// TestColor: never where it is not wanted, and not in a file.
func TestColor(t *testing.T) {
	project(t)
	write(t, "wrong.ptl", wrongSource)
	plain := ptc(t, "compile", "wrong.ptl").err
	if strings.Contains(plain, "\x1b") || plain != ptc(t, "compile", "wrong.ptl", "--color", "never").err {
		t.Errorf("colors in\n%s", plain)
	}
	if colored := ptc(t, "--color", "always", "compile", "wrong.ptl").err; !strings.Contains(colored, "\x1b[1;31merror[E0201]\x1b[0m") {
		t.Errorf("no colors in\n%q", colored)
	}
}

// TestCompletionOfSettings: --set offers the config entries of the file.
func TestCompletionOfSettings(t *testing.T) {
	project(t)
	write(t, "wrong.ptl", wrongSource)
	if r := ptc(t, "__complete", "compile", "wrong.ptl", "--set", ""); !strings.HasPrefix(r.out, "batch=\ninp=\n:6\n") {
		t.Errorf("%q", r.out)
	}
}

// TestSourceKinds: what the language takes for a kind of source is what runs can
// open.
func TestSourceKinds(t *testing.T) {
	project(t)
	for _, kind := range append(data.Kinds(), "npy") {
		write(t, "source.ptl", "import std.optim config { batch = 2 inp = 3 }\nmodel M { param w : [inp] ~ zeros fn apply(x: [batch, inp]) -> [batch, inp] { return x * w } }\n"+
			"train M { loss = mean(M(x)) optimizer = optim.SGD(lr = 0.1) data = source(\""+kind+"\", x = f32[batch, inp]) }\n")
		r := ptc(t, "compile", "source.ptl", "--target", "ref")
		if (r.code == exitOK) != (kind != "npy") {
			t.Errorf("%s: exit code %d\n%s", kind, r.code, r.err)
		}
	}
}
