package vsix

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"ptc/release/tree"
)

// Files are the patterns of what is packed of the extension's folder.
var Files = []string{"*.js", "*.json", "README.md", "syntaxes/*.json"}

// about is what of package.json the manifest repeats, and what it names of files.
type about struct {
	Name, DisplayName, Description, Publisher, Main string
	Engines                                         struct{ VSCode string }
	Categories                                      []string
	Dependencies                                    map[string]string
	Contributes                                     struct {
		Languages []struct {
			ID            string
			Extensions    []string
			Configuration string
		}
		Grammars []struct{ Path string }
	}
}

var versionLine = regexp.MustCompile(`(?m)^  "version": "[^"]*",$`)

// Make gives the archive. The extension is the files of its folder, package.json and
// README.md among them.
func Make(extension tree.Tree, version string, at time.Time) ([]byte, error) {
	files := slices.Clone(extension)
	i := slices.IndexFunc(files, func(f tree.File) bool { return f.Path == "package.json" })
	if i < 0 {
		return nil, errors.New("the extension has no package.json")
	}
	if len(versionLine.FindAll(files[i].Data, -1)) != 1 {
		return nil, errors.New("package.json has no line of its version")
	}
	files[i].Data = versionLine.ReplaceAll(files[i].Data, []byte(`  "version": "`+version+`",`))
	var a about
	if err := json.Unmarshal(files[i].Data, &a); err != nil {
		return nil, fmt.Errorf("package.json: %w", err)
	}
	if err := a.whole(files); err != nil {
		return nil, err
	}
	manifest, err := a.manifest(version)
	if err != nil {
		return nil, err
	}
	types, err := contentTypes(files)
	if err != nil {
		return nil, err
	}
	out := append(files.Below("extension"),
		tree.File{Path: "[Content_Types].xml", Mode: 0o644, Data: types},
		tree.File{Path: "extension.vsixmanifest", Mode: 0o644, Data: manifest})
	return out.Zip(at, "")
}

// whole says what the extension names and does not have.
func (a *about) whole(files tree.Tree) error {
	if len(a.Dependencies) > 0 {
		return fmt.Errorf("the extension depends on %s, which is not packed", strings.Join(slices.Sorted(maps.Keys(a.Dependencies)), ", "))
	}
	names := []string{"README.md", a.Main}
	for _, l := range a.Contributes.Languages {
		names = append(names, l.Configuration)
	}
	for _, g := range a.Contributes.Grammars {
		names = append(names, g.Path)
	}
	for _, f := range files {
		for _, m := range required.FindAllSubmatch(f.Data, -1) {
			if path.Ext(f.Path) == ".js" {
				names = append(names, path.Join(path.Dir(f.Path), string(m[1]))+".js")
			}
		}
	}
	for _, n := range names {
		if !slices.ContainsFunc(files, func(f tree.File) bool { return f.Path == path.Clean(n) }) {
			return fmt.Errorf("the extension has no file %q", n)
		}
	}
	return nil
}

// required are the modules of its own that a script loads.
var required = regexp.MustCompile(`require\("(\./[^"]+)"\)`)

// contentTypes names the type of every kind of file (ECMA-376, part 2, section 10.1.2).
func contentTypes(files tree.Tree) ([]byte, error) {
	known := map[string]string{".js": "application/javascript", ".json": "application/json", ".md": "text/markdown"}
	type kind struct {
		Extension   string `xml:",attr"`
		ContentType string `xml:",attr"`
	}
	types := struct {
		XMLName xml.Name `xml:"http://schemas.openxmlformats.org/package/2006/content-types Types"`
		Default []kind
	}{Default: []kind{{".vsixmanifest", "text/xml"}}}
	for _, f := range files {
		ext := path.Ext(f.Path)
		if known[ext] == "" {
			return nil, fmt.Errorf("the type of %s is not known", f.Path)
		}
		if k := (kind{ext, known[ext]}); !slices.Contains(types.Default, k) {
			types.Default = append(types.Default, k)
		}
	}
	slices.SortFunc(types.Default, func(a, b kind) int { return strings.Compare(a.Extension, b.Extension) })
	return document(types)
}

// document is a value as an XML document.
func document(v any) ([]byte, error) {
	data, err := xml.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{[]byte(xml.Header), data, []byte("\n")}, nil), nil
}
