package check

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPackage installs the package below a folder, with a data base of its own, runs
// what it installs, and removes it.
func TestPackage(t *testing.T) {
	deb := artifact(t, "ptc_*_"+runtime.GOARCH+".deb")
	root := t.TempDir()
	admin := filepath.Join(root, "var/lib/dpkg")
	for _, dir := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(admin, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"available", "status"} {
		if err := os.WriteFile(filepath.Join(admin, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dpkg := func(args ...string) *exec.Cmd {
		// What the package depends on is the system's, of which this data base knows nothing.
		return exec.Command("dpkg", append([]string{"--root=" + root, "--force-not-root", "--force-depends", "--log=" + os.DevNull}, args...)...)
	}
	before := files(t, root)
	start(t, dpkg("--install", deb))
	if out := start(t, dpkg("--status", "ptc")); !strings.Contains(out, "Status: install ok installed") || !strings.Contains(out, "Depends: libc6") {
		t.Errorf("status\n%s", out)
	}

	binary := filepath.Join(root, "usr/bin/ptc")
	ptc := func(args ...string) *exec.Cmd { return exec.Command(binary, args...) }
	version := start(t, ptc("version"))
	if !strings.HasPrefix(version, "ptc ") || !strings.Contains(version, runtime.GOARCH) {
		t.Errorf("version says %s", version)
	}
	work := t.TempDir()
	train(t, work, work, ptc)

	manuals := filepath.Join(root, "usr/share/man")
	page := strings.TrimSpace(start(t, exec.Command("man", "-M", manuals, "-w", "ptc-compile")))
	if page != filepath.Join(manuals, "man1/ptc-compile.1.gz") {
		t.Errorf("man finds %s", page)
	}
	if out := start(t, exec.Command("man", "-M", manuals, "--warnings", "-E", "UTF-8", "ptc-run")); !strings.Contains(out, "--steps") || strings.Contains(out, "warning:") {
		t.Errorf("man says\n%s", out)
	}
	start(t, exec.Command("bash", "-n", filepath.Join(root, "usr/share/bash-completion/completions/ptc")))
	checkOwners(t, deb)

	start(t, dpkg("--purge", "ptc"))
	left := files(t, root)
	// Those of dpkg itself, which it keeps for any package.
	for i := len(left) - 1; i >= 0; i-- {
		if strings.HasPrefix(left[i], "var/lib/dpkg/") {
			left = append(left[:i], left[i+1:]...)
		}
	}
	for i := len(before) - 1; i >= 0; i-- {
		if strings.HasPrefix(before[i], "var/lib/dpkg/") {
			before = append(before[:i], before[i+1:]...)
		}
	}
	if d := cmp.Diff(before, left); d != "" {
		t.Errorf("the package leaves files:\n%s", d)
	}
	if _, err := os.Stat(filepath.Join(root, "usr")); err == nil {
		t.Error("the package leaves folders")
	}
}

// checkOwners: all that the package has is root's, and nobody else may write it.
func checkOwners(t *testing.T, deb string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(start(t, exec.Command("dpkg-deb", "--contents", deb))), "\n")
	if len(lines) < 30 {
		t.Errorf("the package has %d files", len(lines))
	}
	for _, l := range lines {
		fields := strings.Fields(l)
		if fields[1] != "root/root" || fields[0] != "-rw-r--r--" && fields[0] != "-rwxr-xr-x" && fields[0] != "drwxr-xr-x" ||
			!strings.HasPrefix(fields[5], "./usr/") {
			t.Errorf("the package has %s", l)
		}
	}
}

// TestArchives reads the archive of each architecture, and starts that of this machine.
func TestArchives(t *testing.T) {
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		archive := artifact(t, "ptc-*-linux-"+arch+".tar.gz")
		dir := t.TempDir()
		start(t, exec.Command("tar", "-xzf", archive, "-C", dir))
		top := filepath.Join(dir, strings.TrimSuffix(filepath.Base(archive), ".tar.gz"))
		for _, name := range []string{"ptc", "README.md", "docs/language.md", "examples/gpt/gpt.ptl", "share/ptc.1", "share/_ptc", "THIRD-PARTY.txt"} {
			if _, err := os.Stat(filepath.Join(top, name)); err != nil {
				t.Error(err)
			}
		}
		f, err := elf.Open(filepath.Join(top, "ptc"))
		if err != nil {
			t.Fatal(err)
		}
		if f.Machine != machine {
			t.Errorf("%s has a binary for %v", archive, f.Machine)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if arch == runtime.GOARCH {
			fmt.Print(start(t, exec.Command(filepath.Join(top, "ptc"), "version")))
		}
	}
	start(t, &exec.Cmd{Path: sha256sum(t), Args: []string{"sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"}, Dir: *dist})
}

func sha256sum(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
