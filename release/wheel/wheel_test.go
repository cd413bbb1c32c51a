package wheel

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptc/release/tree"
)

func TestVersions(t *testing.T) {
	for v, want := range map[string]string{
		"1.2.3": "1.2.3", "0.1.0-dev": "0.1.0.dev0", "1.0.0-rc.1": "1.0.0rc1", "1.0.0-beta2": "1.0.0b2", "1.0.0-alpha.10": "1.0.0a10",
		"1.0": "", "1.0.0-snapshot": "", "1.0.0+x": "",
	} {
		if got, err := pythonVersion(v); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s (%v), want %q", v, got, err, want)
		}
	}
}

func TestNewest(t *testing.T) {
	for _, c := range []struct {
		versions []string
		want     [2]int
		bad      bool
	}{
		{nil, floor, false},
		{[]string{"", "GLIBC_2.2.5"}, floor, false},
		{[]string{"GLIBC_2.34", "GLIBC_2.4", "GLIBC_2.17"}, [2]int{2, 34}, false},
		{[]string{"GLIBC_PRIVATE"}, floor, true},
		{[]string{"GLIBCXX_3.4"}, floor, true},
	} {
		if got, err := newest(c.versions); got != c.want || (err != nil) != c.bad {
			t.Errorf("%q: %v (%v)", c.versions, got, err)
		}
	}
}

// program is a small binary for an architecture.
func program(t *testing.T, arch string) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "x"), filepath.Join(dir, "main.go"))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "x"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func sample(t *testing.T, arch string) Project {
	t.Helper()
	text, err := os.ReadFile("../../python/pyproject.toml")
	if err != nil {
		t.Fatal(err)
	}
	module, err := tree.Read("../../python", "ptc/*.py", "ptc/py.typed")
	if err != nil {
		t.Fatal(err)
	}
	return Project{Text: text, Module: module, Binary: program(t, arch), Arch: arch, Version: "1.2.3", Licences: []byte("terms"), Time: time.Unix(1_700_000_000, 0)}
}

// TestMake reads a wheel back: RECORD has every file with its hash and size, and the
// binary can be started.
func TestMake(t *testing.T) {
	p := sample(t, "amd64")
	name, data, err := Make(p)
	if err != nil || name != "ptc-1.2.3-py3-none-manylinux_2_17_x86_64.whl" {
		t.Fatalf("%s (%v)", name, err)
	}
	if _, again, err := Make(p); err != nil || !bytes.Equal(again, data) {
		t.Errorf("another wheel the second time (%v)", err)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if texts[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		if f.Name == "ptc/bin/ptc" && f.Mode().Perm() != 0o755 {
			t.Errorf("the binary has the mode %v", f.Mode())
		}
		if f.Modified.Unix() != 1_700_000_000 {
			t.Errorf("%s is of %v", f.Name, f.Modified)
		}
	}
	const info = "ptc-1.2.3.dist-info/"
	if last := z.File[len(z.File)-1].Name; !strings.HasPrefix(last, info) {
		t.Errorf("%s is the archive's end", last)
	}
	rows, err := csv.NewReader(bytes.NewReader(texts[info+"RECORD"])).ReadAll()
	if err != nil || len(rows) != len(z.File) {
		t.Errorf("%d rows of %d files (%v)", len(rows), len(z.File), err)
	}
	for _, row := range rows {
		sum := sha256.Sum256(texts[row[0]])
		want := []string{row[0], "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]), fmt.Sprint(len(texts[row[0]]))}
		if row[0] == info+"RECORD" {
			want = []string{row[0], "", ""}
		}
		if fmt.Sprint(row) != fmt.Sprint(want) {
			t.Errorf("RECORD has %q, want %q", row, want)
		}
	}
	for file, text := range map[string]string{"WHEEL": "Tag: py3-none-manylinux_2_17_x86_64\n", "METADATA": "Version: 1.2.3\n", "entry_points.txt": "ptc = ptc.__main__:main\n"} {
		if !strings.Contains(string(texts[info+file]), text) {
			t.Errorf("%s has no %q:\n%s", file, text, texts[info+file])
		}
	}
}

func TestWrongProjects(t *testing.T) {
	p := sample(t, "arm64")
	if name, _, err := Make(p); err != nil || !strings.HasSuffix(name, "-manylinux_2_17_aarch64.whl") {
		t.Errorf("%s (%v)", name, err)
	}
	other := p
	other.Arch = "amd64"
	if _, _, err := Make(other); err == nil {
		t.Error("a binary for ARM is in a wheel for x86-64")
	}
	other = p
	other.Binary = []byte("text")
	if _, _, err := Make(other); err == nil {
		t.Error("a text is a binary")
	}
	other = p
	other.Text = []byte("[project]\n")
	if _, _, err := Make(other); err == nil {
		t.Error("a project without a name is a wheel")
	}
}
