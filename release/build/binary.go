package build

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Linking says what a binary needs to start.
type Linking int

const (
	Dynamic Linking = iota // glibc's dynamic linker; loads libraries such as libLLVM where they are
	Static                 // nothing; compiles for and runs the target ref alone
)

// Binary is ptc for one architecture.
type Binary struct {
	Data []byte
	Info *buildinfo.BuildInfo
}

// Build makes a binary, once.
func (s *Source) Build(arch string, l Linking) (*Binary, error) {
	if !slices.Contains(Arches, arch) {
		return nil, fmt.Errorf("no release is for %q, only for %s", arch, strings.Join(Arches, ", "))
	}
	key := fmt.Sprint(arch, l)
	if b := s.built[key]; b != nil {
		return b, nil
	}
	dir, err := os.MkdirTemp("", "ptc-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "ptc")
	cmd := exec.Command("go", append([]string{"build", "-o", out}, s.flags(arch, l)...)...)
	cmd.Dir = s.Root
	// Nothing of the user's settings of Go reaches the binary.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build for %s: %w\n%s", arch, err, bytes.TrimSpace(text))
	}
	b := &Binary{}
	if b.Data, err = os.ReadFile(out); err != nil {
		return nil, err
	}
	if b.Info, err = buildinfo.Read(bytes.NewReader(b.Data)); err != nil {
		return nil, err
	}
	if s.built == nil {
		s.built = map[string]*Binary{}
	}
	s.built[key] = b
	return b, nil
}

// flags are those of the Makefile's build, without what git would add besides.
func (s *Source) flags(arch string, l Linking) []string {
	link := "-s -w -buildid= -X main.commit=" + s.Commit
	if s.named {
		link += " -X ptc/compiler.Version=" + s.Version
	}
	flags := []string{"-trimpath", "-buildvcs=false"}
	switch {
	case l == Static:
		flags = append(flags, "-tags", "static")
	case arch == "amd64":
		link += " -E main.entryPoint"
	}
	return append(flags, "-ldflags", link, "./cmd/ptc")
}

func goEnv(dir, name string) (string, error) { return output(dir, "go", "env", name) }

func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
