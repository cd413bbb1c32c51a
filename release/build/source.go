package build

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ptc/release/tree"
)

// Arches are the architectures of a release, as Go names them.
var Arches = []string{"amd64", "arm64"}

// Source is the repository at one commit.
type Source struct {
	Root    string
	Version string // 1.2.3, or 1.2.3-dev and the like before it
	Commit  string // empty where there is no git
	Time    time.Time
	Arches  []string

	named bool // the version is not that of the sources
	built map[string]*Binary
}

var (
	versionOf  = regexp.MustCompile(`(?m)^var Version = "([^"]*)"$`)
	isVersion  = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)
	errNoTime  = errors.New("neither SOURCE_DATE_EPOCH nor git says of what time the sources are")
	versionAt  = "compiler/compiler.go"
	manualAt   = "dist/man"
	errNoPages = errors.New("there are no manual pages in " + manualAt + ": run make man")
)

// Read finds what of s is not given.
func (s *Source) Read() error {
	if s.named = s.Version != ""; !s.named {
		text, err := os.ReadFile(filepath.Join(s.Root, versionAt))
		if err != nil {
			return err
		}
		m := versionOf.FindSubmatch(text)
		if m == nil {
			return fmt.Errorf("%s does not say the version", versionAt)
		}
		s.Version = string(m[1])
	}
	if !isVersion.MatchString(s.Version) {
		return fmt.Errorf("the version is %q, and has to be as 1.2.3 or 1.2.3-rc.1", s.Version)
	}
	s.Commit, _ = s.git("describe", "--tags", "--always", "--dirty") // an archive of the sources has no git
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		var err error
		if seconds, err = s.git("log", "-1", "--format=%ct"); err != nil {
			return errNoTime
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n < 0 || n >= 1<<33 {
		return fmt.Errorf("SOURCE_DATE_EPOCH is %q, and has to be seconds since 1970", seconds)
	}
	s.Time = time.Unix(n, 0).UTC()
	return nil
}

func (s *Source) git(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", s.Root}, args...)...).Output()
	return strings.TrimSpace(string(out)), err
}

// Manual gives the manual pages and completions that make man wrote.
func (s *Source) Manual() (tree.Tree, error) {
	out, err := tree.Read(filepath.Join(s.Root, manualAt), "*.1", "_ptc", "ptc.*sh")
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errNoPages, err)
	}
	return out, nil
}

// Documents gives what a reader wants with the binary.
func (s *Source) Documents() (tree.Tree, error) {
	return tree.Read(s.Root, "*.md", "docs/*.md", "examples/*/*.ptl", "stdlib/*.ptl")
}

// Licences gives the file of notices of the libraries in a binary.
func (s *Source) Licences(b *Binary) (tree.File, error) {
	var text bytes.Buffer
	fmt.Fprintln(&text, "ptc contains the following software, under the terms of its authors.")
	goRoot, err := goEnv(s.Root, "GOROOT")
	if err != nil {
		return tree.File{}, err
	}
	if err := notices(&text, "Go "+strings.TrimPrefix(b.Info.GoVersion, "go"), goRoot); err != nil {
		return tree.File{}, err
	}
	for _, d := range b.Info.Deps {
		if d.Replace != nil {
			return tree.File{}, fmt.Errorf("%s is replaced, and no release can be made of that", d.Path)
		}
		dir, err := output(s.Root, "go", "list", "-m", "-f", "{{.Dir}}", d.Path)
		if err != nil {
			return tree.File{}, err
		}
		if err := notices(&text, d.Path+" "+d.Version, dir); err != nil {
			return tree.File{}, err
		}
	}
	return tree.File{Path: "THIRD-PARTY.txt", Mode: 0o644, Data: text.Bytes()}, nil
}

var isLicence = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents)(-[a-z0-9]+)?(\.(md|txt))?$`)

// notices adds the licence files of a folder. Where the module at hand has none, that
// is a mistake of the release.
func notices(to *bytes.Buffer, name, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, f := range files {
		if !f.Type().IsRegular() || !isLicence.MatchString(f.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(to, "\n%s\n%s, %s\n\n%s\n", strings.Repeat("=", 72), name, f.Name(), bytes.TrimSpace(text))
	}
	if !found {
		return fmt.Errorf("%s has no licence file", name)
	}
	return nil
}
