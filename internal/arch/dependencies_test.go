package arch

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/version"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

var current = flag.Bool("current", false, "ask for the newest releases of all direct dependencies, over the network")

// listed is a module, as `go list -m -json` prints it.
type listed struct {
	Path, Version, GoVersion string
	Time                     time.Time
	Update                   *listed
}

// modules are those that `go list` lists in a folder.
func modules(folder string, args ...string) (out []listed, err error) {
	c := exec.Command("go", append([]string{"list", "-m", "-json"}, args...)...)
	c.Dir = folder
	var said strings.Builder
	c.Stderr = &said
	text, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", folder, err, said.String())
	}
	for d := json.NewDecoder(strings.NewReader(string(text))); ; {
		var m listed
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
}

// required are the direct dependencies of a folder's go.mod.
func required(t *testing.T, folder string) (paths []string) {
	c := exec.Command("go", "mod", "edit", "-json")
	c.Dir = folder
	text, err := c.Output()
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err = errors.Join(err, json.Unmarshal(text, &mod)); err != nil {
		t.Fatal(folder, err)
	}
	for _, r := range mod.Require {
		if !r.Indirect {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// folders hold a go.mod each.
var folders = []string{"../..", "../../bench/operators", "../../release"}

// TestGoIsSupported: of Go the last two releases get corrections, and go.mod names one of these
// two as the toolchain that tests it sees them.
func TestGoIsSupported(t *testing.T) {
	for _, folder := range folders {
		main, err := modules(folder)
		if err != nil {
			t.Fatal(err)
		}
		minor := func(v string) (n int) {
			_, err := fmt.Sscanf(version.Lang(v), "go1.%d", &n)
			if err != nil {
				t.Skipf("%s is no release", v)
			}
			return n
		}
		if in, by := minor("go"+main[0].GoVersion), minor(runtime.Version()); in < by-1 {
			t.Errorf("%s: go.mod says go %s, which gets no more corrections now that there is %s", folder, main[0].GoVersion, runtime.Version())
		}
	}
}

// TestDependenciesAreCurrent: no direct dependency is a year older than its newest release.
func TestDependenciesAreCurrent(t *testing.T) {
	if !*current {
		t.Skip("it asks the network: run with -current, or make dependencies-check")
	}
	for _, folder := range folders {
		paths, refused := required(t, folder), 0
		for _, path := range paths {
			asked, err := modules(folder, "-u", path)
			if err != nil {
				t.Logf("%v", err)
				refused++
				continue
			}
			m := asked[0]
			if m.Update == nil {
				continue
			}
			t.Logf("%s: %s %s of %s, newest %s of %s", folder, m.Path, m.Version, m.Time.Format(time.DateOnly), m.Update.Version, m.Update.Time.Format(time.DateOnly))
			if m.Update.Time.Sub(m.Time) > 365*24*time.Hour {
				t.Errorf("%s: %s %s is more than a year behind %s", folder, m.Path, m.Version, m.Update.Version)
			}
		}
		if refused*2 > len(paths) {
			t.Errorf("%s: of %d modules %d could not be asked for", folder, len(paths), refused)
		}
	}
}
