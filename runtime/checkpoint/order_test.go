package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// asFormat1 makes a checkpoint what older programs saved.
func asFormat1(t *testing.T, dir string) {
	t.Helper()
	damage(t, filepath.Join(dir, manifestName), func(text []byte) []byte {
		m := map[string]any{}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		m["format"] = 1
		delete(m, "manifest_sha256")
		delete(m, "sequence")
		out, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return out
	})
}

// Which one is the best is an error of its own where there are checkpoints, and none was validated.
func TestBestOfNone(t *testing.T) {
	s, _ := newStore(t)
	if _, err := Params(s.Dir, true, nil); !errors.Is(err, ErrNone) {
		t.Errorf("of an empty folder: %v", err)
	}
	saveT(t, s, 4)
	if path, err := Params(filepath.Join(s.Dir, "step-00000004"), true, nil); err != nil || filepath.Base(path) != modelFile {
		t.Errorf("of a checkpoint: %s, %v", path, err)
	}
	_, err := Params(s.Dir, true, nil)
	if err == nil || errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "it has 1 checkpoint without a validation loss") || !strings.Contains(err.Error(), "--keep-best") {
		t.Errorf("of one that was not validated: %v", err)
	}
}

// Checkpoints of older programs are read, with a warning, and come before all
// that has a number.
func TestFormat1(t *testing.T) {
	s, warnings := newStore(t)
	saveT(t, s, 8, 9)
	for _, name := range []string{"step-00000008", "step-00000009"} {
		asFormat1(t, filepath.Join(s.Dir, name))
	}
	latestT(t, s, 9)
	if len(*warnings) != 1 || !strings.Contains((*warnings)[0], "older ptc") {
		t.Errorf("warnings %q", *warnings)
	}
	s.Unlock()
	lockT(t, s)
	saveT(t, s, 3)
	latestT(t, s, 3)
	if got := steps(t, s); got != "[3 9 8]" {
		t.Errorf("the order is %s", got)
	}
	if len(*warnings) != 1 {
		t.Errorf("warnings %q", *warnings)
	}

	// Its step is checked: files have it as well.
	damage(t, filepath.Join(s.Dir, "step-00000009", manifestName), func(b []byte) []byte {
		return bytes.Replace(b, []byte(`"step":9`), []byte(`"step":10`), 1)
	})
	for _, name := range []string{"step-00000009", "step-00000010", "best"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(s.Dir, "step-00000009"))); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "has step 10") {
			t.Errorf("as %s: error %v", name, err)
		}
	}
}

// A checkpoint may have any name for a person; a name with a step has to be right.
func TestFolderNamesTheStep(t *testing.T) {
	s, _ := newStore(t)
	saveT(t, s, 1, 2)
	best, wrong := filepath.Join(s.Dir, "best"), filepath.Join(s.Dir, "step-00000003")
	if err := os.Rename(filepath.Join(s.Dir, "step-00000001"), best); err != nil {
		t.Fatal(err)
	}
	c, err := Load(best)
	if err != nil {
		t.Fatal(err)
	}
	checkContent(t, c)
	c.Close()
	if err := os.Rename(filepath.Join(s.Dir, "step-00000002"), wrong); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(wrong); err == nil || !strings.Contains(err.Error(), "the name of the folder has step 3") {
		t.Errorf("error %v", err)
	}
}

// The manifest's own hash is one that a person can compute.
func TestManifestHash(t *testing.T) {
	s, _ := newStore(t)
	saveT(t, s, 1)
	text, err := os.ReadFile(filepath.Join(s.Dir, "step-00000001", manifestName))
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	blank := strings.Replace(string(text), m.SHA256, "", 1)
	if len(m.SHA256) != 64 || hashOf([]byte(blank), "") != m.SHA256 || !strings.Contains(blank, `"manifest_sha256": "",`) {
		t.Errorf("the hash is %q of\n%s", m.SHA256, blank)
	}
}

// What cannot be read takes no place of what can.
func TestDamagedOnesAreNotKeptForOthers(t *testing.T) {
	s, _ := newStore(t)
	s.Keep = 2
	saveT(t, s, 1, 2)
	for _, step := range []string{"step-00000001", "step-00000002"} {
		if err := os.Remove(filepath.Join(s.Dir, step, manifestName)); err != nil {
			t.Fatal(err)
		}
	}
	saveT(t, s, 3)
	if got := steps(t, s); got != "[3 2 1]" {
		t.Errorf("left are %s", got)
	}
	saveT(t, s, 4)
	if got := steps(t, s); got != "[4 3]" {
		t.Errorf("left are %s", got)
	}
}

// Overwriting removes what was there when the first new one is complete, not
// before, and nothing afterwards.
func TestOverwrite(t *testing.T) {
	s, _ := newStore(t)
	saveT(t, s, 1, 5, 6)
	s.Unlock()
	s.Overwrite, s.Keep = true, -1
	lockT(t, s)
	latestT(t, s, 6)
	w, err := s.Begin(Meta{Step: 1}, testTensors)
	if err != nil {
		t.Fatal(err)
	}
	w.Abort()
	if got := steps(t, s); got != "[6 5 1]" {
		t.Errorf("before the first save there are %s", got)
	}
	saveT(t, s, 1)
	if got := steps(t, s); got != "[1]" {
		t.Errorf("after it there are %s", got)
	}
	saveT(t, s, 2, 3)
	latestT(t, s, 3)
	if got := steps(t, s); got != "[3 2 1]" {
		t.Errorf("at the end there are %s", got)
	}
	if slices.ContainsFunc(files(t, s), func(f string) bool { return strings.HasPrefix(f, ".tmp") }) {
		t.Errorf("left behind: %v", files(t, s))
	}
}
