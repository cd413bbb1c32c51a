package docs_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tree is what the names in the pages are looked up in.
type tree struct {
	files []string            // and folders, from the root, with slashes
	decls map[string][]string // of the packages with this name: what they declare
	make  string
}

func treeOf(t *testing.T) *tree {
	t.Helper()
	x := &tree{decls: map[string][]string{}}
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	x.make = string(text)
	decl := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type |var |const |\t)([A-Z]\w*)\b`)
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if d.IsDir() && len(d.Name()) > 2 && d.Name()[0] == '.' {
			return fs.SkipDir
		}
		rel = filepath.ToSlash(rel)
		x.files = append(x.files, rel)
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(name)
		pkg := path.Base(path.Dir(rel))
		for _, m := range decl.FindAllStringSubmatch(string(text), -1) {
			x.decls[pkg] = append(x.decls[pkg], m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// has reports whether a path of the repository, perhaps with `*` or `…` in it,
// exists; below from, or below the root.
func (x *tree) has(name string) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(name, "/…"), "/")
	return slices.ContainsFunc(x.files, func(f string) bool {
		ok, err := path.Match(name, f)
		return ok && err == nil
	})
}

// TestNamesOfTheRepository: paths, names of packages and targets of make that a page
// has in backticks exist.
func TestNamesOfTheRepository(t *testing.T) {
	x := treeOf(t)
	code := regexp.MustCompile("`([^`\n]+)`")
	isPath := regexp.MustCompile(`^[a-z][\w.-]*(/[\w.*…-]+)+/?$`)
	isFile := regexp.MustCompile(`^[a-z][\w*]*\.(go|ptl|md)$`)
	isName := regexp.MustCompile(`^([a-z][a-z0-9]*)\.([A-Z]\w*)$`)
	isMake := regexp.MustCompile(`^make ([a-z]+)$`)
	tops := []string{}
	for _, f := range x.files {
		if !strings.Contains(f, "/") {
			tops = append(tops, f)
		}
	}
	paths, names := 0, 0
	for page, text := range pages(t) {
		var prose []string
		for i, block := range strings.Split(text, "\n```") {
			if i%2 == 0 {
				prose = append(prose, block)
			}
		}
		for _, m := range code.FindAllStringSubmatch(strings.ReplaceAll(strings.Join(prose, "\n"), "\n", " "), -1) {
			switch said := m[1]; {
			case isPath.MatchString(said):
				first, _, _ := strings.Cut(said, "/")
				if !slices.Contains(tops, first) {
					continue // a module of Go's, a path of the example
				}
				if paths++; !x.has(said) {
					t.Errorf("%s: there is no `%s`", page, said)
				}
			case isFile.MatchString(said) && page == "architecture.md" || isFile.MatchString(said) && page == "packages.md":
				if paths++; !slices.ContainsFunc(x.files, func(f string) bool { return path.Base(f) == said }) {
					t.Errorf("%s: there is no file `%s`", page, said)
				}
			case isName.MatchString(said):
				n := isName.FindStringSubmatch(said)
				if x.decls[n[1]] == nil {
					continue // a module of the language, or of an example
				}
				if names++; !slices.Contains(x.decls[n[1]], n[2]) {
					t.Errorf("%s: package %s has no %s", page, n[1], n[2])
				}
			case isMake.MatchString(said):
				target := isMake.FindStringSubmatch(said)[1]
				if names++; !strings.Contains(x.make, "\n"+target+":") {
					t.Errorf("%s: the Makefile has no target %s", page, target)
				}
			}
		}
	}
	if paths < 60 || names < 20 {
		t.Errorf("found %d paths and %d names", paths, names)
	}
}

// TestEveryFolderHasARow: packages.md names each folder with Go files, or one above
// it as `folder/…`.
func TestEveryFolderHasARow(t *testing.T) {
	rows := map[string]bool{}
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(pages(t)["packages.md"], -1) {
		rows[m[1]] = true
	}
	for _, f := range treeOf(t).files {
		if path.Base(f) != "doc.go" || f == "doc.go" {
			continue
		}
		found := false
		for d := path.Dir(f); d != "."; d = path.Dir(d) {
			found = found || rows[d] && d == path.Dir(f) || rows[d+"/…"]
		}
		if !found {
			t.Errorf("%s is not in packages.md", path.Dir(f))
		}
	}
}
