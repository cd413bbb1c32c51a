package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingKept: a run says so that leaves nothing of what it trains, and one that leaves something does not.
func TestNothingKept(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q", "--target", "ref")...)
	for _, c := range []struct {
		args []string
		says bool
	}{{nil, true}, {[]string{"--log", "json:l"}, true}, {[]string{"--save", "w"}, false}, {[]string{"--checkpoint", "ck"}, false}} {
		r := ptc(t, append([]string{"run", "a.bin", "--steps", "1"}, c.args...)...)
		if r.code != exitOK || strings.Contains(r.err, "nothing is kept") != c.says {
			t.Errorf("%v: exit code %d\n%s", c.args, r.code, r.err)
		}
	}
}

// TestEmptyValues: a flag for a file or a folder that is given and empty is a mistake, of any command.
func TestEmptyValues(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q", "--target", "ref")...)
	for _, line := range []string{"run a.bin --steps 1 --checkpoint", "run a.bin --steps 1 --save", "run a.bin --steps 1 --init", "run a.bin --steps 1 --serve",
		"run a.bin --steps 1 --trace", "run a.bin --steps 1 --trust", "eval a.bin --init", "compile p/model.ptl -o", "data prepare text.txt --tokenizer a -o", "export a --plan a.bin -o x --like"} {
		args := append(strings.Fields(line), "")
		if r := ptc(t, args...); r.code != exitUsage || !strings.Contains(r.err, "is empty") {
			t.Errorf("ptc %s \"\": exit code %d\n%s", line, r.code, r.err)
		}
	}
}

// TestRunASource: a source is compiled and trained as its plan is, with any entry of its config; what is for plans
// is refused.
func TestRunASource(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q")...)
	must(t, "run", "a.bin", "--steps", "2", "--save", "of-plan")
	must(t, with(small, "run", "p/model.ptl", "--steps", "2", "--save", "of-source")...)
	if read(t, "of-plan") != read(t, "of-source") {
		t.Error("the source trains other parameters than its plan")
	}
	if plans, _ := filepath.Glob("*/*.bin"); plans != nil {
		t.Errorf("%v is written", plans)
	}
	write(t, "bad.ptl", "model M {\n")
	for line, code := range map[string]int{"run p/model.ptl --rebuild": exitUsage, "run p/model.ptl --trust k": exitUsage, "run bad.ptl": exitInput, "run none.ptl": exitInput} {
		if r := ptc(t, strings.Fields(line)...); r.code != code {
			t.Errorf("ptc %s: exit code %d\n%s", line, r.code, r.err)
		}
	}
}

// TestPassesInAWrongOrder: whichever pass of the table is run on a module that others should have changed before,
// it works or the error is the user's.
func TestPassesInAWrongOrder(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-q", "--target", "ref", "--dump-ir", "ir", "-o", "a.bin")...)
	wrong := 0
	for _, name := range passNames() {
		for _, line := range [][]string{{name}, {"autodiff", name}, {name, name}} {
			r := ptc(t, "opt", "ir/00-lower.ptir", "--passes", strings.Join(line, ","), "-o", "out")
			if r.code != exitOK && r.code != exitInput {
				t.Errorf("%v: exit code %d\n%s", line, r.code, r.err)
			}
			if strings.Contains(r.err, "as far as others have brought it") {
				wrong++
			}
		}
	}
	if wrong == 0 {
		t.Error("no order is wrong")
	}
}

// TestExportToAFile: an export names the place that it cannot write.
func TestExportToAFile(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q", "--target", "ref")...)
	must(t, "run", "a.bin", "--steps", "1", "--save", "w")
	write(t, "there", "a file")
	r := ptc(t, "export", "w", "--plan", "a.bin", "-o", "there")
	if r.code != exitFile && r.code != exitInput || strings.Contains(r.err, "cannot export w: not a directory") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
	if err := exportError("w", "there", mustFail(os.ReadDir("there"))); !strings.Contains(err.Error(), "cannot make the folder there: it is a regular file") {
		t.Error(err)
	}
}

func mustFail[T any](_ T, err error) error { return err }
