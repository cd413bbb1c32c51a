package wheel

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"time"

	"ptc/release/tree"
)

// Project is what a wheel is made of.
type Project struct {
	Text     []byte    // pyproject.toml
	Module   tree.Tree // ptc/*.py, ptc/py.typed
	Binary   []byte
	Arch     string
	Version  string
	Licences []byte
	Time     time.Time
}

// Make gives a wheel's name and bytes. The binary is in the module, which starts it: in
// the folder of scripts it could not be found again from every kind of environment.
func Make(p Project) (string, []byte, error) {
	about, err := read(p.Text)
	if err != nil {
		return "", nil, err
	}
	version, err := pythonVersion(p.Version)
	if err != nil {
		return "", nil, err
	}
	system, err := platform(p.Binary, p.Arch)
	if err != nil {
		return "", nil, err
	}
	tag := "py3-none-" + system
	info := about.name + "-" + version + ".dist-info/"
	files := append(tree.Tree{
		{Path: "ptc/bin/ptc", Mode: 0o755, Data: p.Binary},
		{Path: info + "METADATA", Mode: 0o644, Data: about.metadata(version)},
		{Path: info + "WHEEL", Mode: 0o644, Data: []byte("Wheel-Version: 1.0\nGenerator: ptc-release\nRoot-Is-Purelib: false\nTag: " + tag + "\n")},
		{Path: info + "entry_points.txt", Mode: 0o644, Data: []byte("[console_scripts]\n" + about.script + "\n")},
		{Path: info + "licenses/THIRD-PARTY.txt", Mode: 0o644, Data: p.Licences},
	}, p.Module...)
	record := info + "RECORD"
	var rows strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.Data)
		fmt.Fprintf(&rows, "%s,sha256=%s,%d\n", f.Path, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.Data))
	}
	rows.WriteString(record + ",,\n")
	// The specification asks for the folder .dist-info to be the archive's end.
	data, err := append(files, tree.File{Path: record, Mode: 0o644, Data: []byte(rows.String())}).Zip(p.Time, info)
	return about.name + "-" + version + "-" + tag + ".whl", data, err
}

// about is what of pyproject.toml a wheel says.
type about struct {
	name, summary, requires, numpy, script string
}

// read takes from our pyproject.toml the few lines that it has, which need no reader of
// TOML; a line that is not there is an error.
func read(text []byte) (about, error) {
	var a about
	for _, f := range []struct {
		to      *string
		pattern string
	}{
		{&a.name, `(?m)^name = "([a-z]+)"$`},
		{&a.summary, `(?m)^description = "([^"]+)"$`},
		{&a.requires, `(?m)^requires-python = "([^"]+)"$`},
		{&a.numpy, `(?m)^numpy = \["([^"]+)"\]$`},
		{&a.script, `(?m)^\[project.scripts\]\n(ptc = "[\w.:]+")$`},
	} {
		m := regexp.MustCompile(f.pattern).FindSubmatch(text)
		if m == nil {
			return a, fmt.Errorf("pyproject.toml has no line %s", f.pattern)
		}
		*f.to = strings.ReplaceAll(string(m[1]), `"`, "")
	}
	return a, nil
}

// metadata is the file METADATA (PyPA specification "Core metadata", 2.1).
func (a about) metadata(version string) []byte {
	return []byte("Metadata-Version: 2.1\nName: " + a.name + "\nVersion: " + version + "\nSummary: " + a.summary +
		"\nRequires-Python: " + a.requires + "\nProvides-Extra: numpy\nRequires-Dist: " + a.numpy + "; extra == 'numpy'\n")
}
