package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// linesShown is how many differing lines of `ptc explain` a difference shows.
const linesShown = 6

// builds are the binaries to compare, a folder for their files, and what the base made of cases before.
type builds struct {
	base, next, dir string
	known           *results
	allowed         renaming
}

// outcome of a case.
type outcome struct {
	rejected string // the message, where both builds reject the case with the same one
	differs  string // what differs, empty if nothing
}

// compare compiles case number n with both builds.
func (b builds) compare(n int, e entry) (o outcome, err error) {
	dir := filepath.Join(b.dir, fmt.Sprint(n))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return o, err
	}
	source := e.file
	if source == "" {
		source = filepath.Join(dir, "model.ptl")
		if err := os.WriteFile(source, []byte(e.source), 0o666); err != nil {
			return o, err
		}
	}
	plans := [2]string{filepath.Join(dir, "base.bin"), filepath.Join(dir, "next.bin")}
	next, err := b.made(b.next, e, source, plans[1])
	if err != nil {
		return o, err
	}
	base, ok := b.known.of(e)
	if !ok || base != next { // a difference is looked at with both plans
		if base, err = b.made(b.base, e, source, plans[0]); err != nil {
			return o, err
		}
		b.known.add(e, base)
	}
	switch {
	case base.Message != next.Message:
		o.differs = fmt.Sprintf("  base: %s\n  next: %s\n", cmp.Or(base.Message, "compiles"), cmp.Or(next.Message, "compiles"))
	case base != next:
		o.differs, err = b.difference(dir, source, e, plans)
	default:
		o.rejected = base.Message
	}
	if err == nil && o.differs == "" {
		err = os.RemoveAll(dir)
	}
	return o, err
}

// made compiles a case with one build, and is the digest of its plan or its message.
func (b builds) made(bin string, e entry, source, plan string) (result, error) {
	if m := compileWith(bin, e, source, plan); m != "" {
		return result{Message: b.allowed.text(m)}, nil
	}
	text, err := b.allowed.plan(plan)
	if err != nil {
		return result{}, err
	}
	return result{Plan: fmt.Sprintf("%x", sha256.Sum256(text))}, nil
}

// compileWith runs one build, and is what it says if it fails.
func compileWith(bin string, e entry, source, plan string, more ...string) string {
	args := append([]string{"compile", source, "--target", e.target, "-q", "-o", plan}, more...)
	if e.layout != "" {
		args = append(args, "--layout", e.layout)
	}
	if e.imports != "" {
		args = append(args, "--imports-below", e.imports)
	}
	for _, s := range e.set {
		args = append(args, "--set", s)
	}
	var text bytes.Buffer
	cmd := exec.Command(bin, args...)
	cmd.Stderr = &text
	if err := cmd.Run(); err != nil {
		return cmp.Or(strings.TrimSpace(text.String()), err.Error())
	}
	return ""
}

// difference is where two plans that differ do so: it compiles again with dumps, for the first pass that
// differs.
func (b builds) difference(dir, source string, e entry, plans [2]string) (string, error) {
	dumps := [2]string{filepath.Join(dir, "base"), filepath.Join(dir, "next")}
	for i, bin := range []string{b.base, b.next} {
		if m := compileWith(bin, e, source, plans[i], "--dump-ir", dumps[i]); m != "" {
			return "", fmt.Errorf("%s, compiled again: %s", e.name, m)
		}
	}
	first, err := b.firstDump(dumps)
	if err != nil {
		return "", err
	}
	lines, err := b.explainDiff(plans)
	return "  from " + first + "\n" + lines, err
}

// firstDump is the name of the first pass whose dumps differ.
func (b builds) firstDump(dirs [2]string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dirs[0], "*.ptir"))
	for _, file := range files {
		name := filepath.Base(file)
		base, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		next, err := os.ReadFile(filepath.Join(dirs[1], name))
		if errors.Is(err, fs.ErrNotExist) {
			return "the list of passes, at " + name, nil
		} else if err != nil {
			return "", err
		}
		if b.allowed.text(string(base)) != b.allowed.text(string(next)) {
			return strings.TrimSuffix(name, ".ptir"), nil
		}
	}
	return "code, behind the last pass", err
}

// explainDiff is the first lines that only one of the two descriptions has.
func (b builds) explainDiff(plans [2]string) (string, error) {
	var texts [2][]string
	for i, bin := range []string{b.base, b.next} {
		out, err := exec.Command(bin, "explain", plans[i]).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("explain %s: %w\n%s", plans[i], err, out)
		}
		texts[i] = strings.Split(b.allowed.text(string(out)), "\n")
	}
	var shown []string
	for i, sign := range []string{"  - ", "  + "} {
		other := map[string]bool{}
		for _, l := range texts[1-i] {
			other[l] = true
		}
		n := 0
		for _, l := range texts[i] {
			if !other[l] && n < linesShown {
				shown = append(shown, sign+l+"\n")
				n++
			}
		}
	}
	if len(shown) == 0 {
		shown = []string{"  explain says the same of both\n"}
	}
	return strings.Join(shown, ""), nil
}
