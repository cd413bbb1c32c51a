package vsix

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"ptc/release/tree"
)

var at = time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)

func extension(t *testing.T) tree.Tree {
	t.Helper()
	files, err := tree.Read("../../editors/vscode", Files...)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestMake reads the archive back: its files, its manifest, and the type of each file.
func TestMake(t *testing.T) {
	files := extension(t)
	data, err := Make(files, "1.2.3-rc.1", at)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Make(extension(t), "1.2.3-rc.1", at.In(time.FixedZone("", 3600))); err != nil || !bytes.Equal(again, data) {
		t.Errorf("it has other bytes the second time (%v)", err)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	has := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if has[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		if !f.Modified.Equal(at) {
			t.Errorf("%s has the time %v", f.Name, f.Modified)
		}
	}
	for _, f := range files {
		if got, ok := has["extension/"+f.Path]; !ok || f.Path != "package.json" && !bytes.Equal(got, f.Data) {
			t.Errorf("extension/%s is not that of the folder", f.Path)
		}
	}
	var p struct{ Name, Publisher, Version string }
	if err := json.Unmarshal(has["extension/package.json"], &p); err != nil || p.Version != "1.2.3-rc.1" {
		t.Errorf("package.json has the version %q (%v)", p.Version, err)
	}
	var m struct {
		XMLName  xml.Name
		Identity struct {
			ID        string `xml:"Id,attr"`
			Version   string `xml:",attr"`
			Publisher string `xml:",attr"`
		} `xml:"Metadata>Identity"`
		Properties []struct {
			ID    string `xml:"Id,attr"`
			Value string `xml:",attr"`
		} `xml:"Metadata>Properties>Property"`
		Targets []struct {
			ID string `xml:"Id,attr"`
		} `xml:"Installation>InstallationTarget"`
		Assets []struct {
			Path string `xml:",attr"`
		} `xml:"Assets>Asset"`
	}
	if err := xml.Unmarshal(has["extension.vsixmanifest"], &m); err != nil {
		t.Fatal(err)
	}
	if m.XMLName.Local != "PackageManifest" || m.Identity.ID != p.Name || m.Identity.Publisher != p.Publisher || m.Identity.Version != p.Version ||
		len(m.Targets) != 1 || m.Targets[0].ID != "Microsoft.VisualStudio.Code" {
		t.Errorf("the manifest is\n%s", has["extension.vsixmanifest"])
	}
	values := map[string]string{}
	for _, x := range m.Properties {
		values[x.ID] = x.Value
	}
	if values["Microsoft.VisualStudio.Code.Engine"] != "^1.82.0" || values["Microsoft.VisualStudio.Code.PreRelease"] != "true" {
		t.Errorf("properties %v", values)
	}
	if len(m.Assets) != 2 {
		t.Errorf("assets %v", m.Assets)
	}
	for _, x := range m.Assets {
		if has[x.Path] == nil {
			t.Errorf("the asset %s is not there", x.Path)
		}
	}
	checkTypes(t, has)
}

// checkTypes: every file has a type, and every type a file.
func checkTypes(t *testing.T, has map[string][]byte) {
	t.Helper()
	var types struct {
		Default []struct {
			Extension string `xml:",attr"`
		}
	}
	if err := xml.Unmarshal(has["[Content_Types].xml"], &types); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for name := range has {
		if ext := path.Ext(name); ext != ".xml" && !slices.Contains(want, ext) {
			want = append(want, ext)
		}
	}
	for _, d := range types.Default {
		got = append(got, d.Extension)
	}
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("types are of %v, want %v", got, want)
	}
}

// TestRefused: what could not be installed, or would not start, is not made.
func TestRefused(t *testing.T) {
	without := func(name string) tree.Tree {
		return slices.DeleteFunc(slices.Clone(extension(t)), func(f tree.File) bool { return f.Path == name })
	}
	changed := func(from, to string) tree.Tree {
		files := slices.Clone(extension(t))
		for i, f := range files {
			if f.Path == "package.json" {
				if !strings.Contains(string(f.Data), from) {
					t.Fatalf("package.json has no %q", from)
				}
				files[i].Data = []byte(strings.Replace(string(f.Data), from, to, 1))
			}
		}
		return files
	}
	for says, files := range map[string]tree.Tree{
		"no package.json":                without("package.json"),
		`no file "README.md"`:            without("README.md"),
		`no file "./extension.js"`:       without("extension.js"),
		`no file "connection.js"`:        without("connection.js"),
		`no file "./syntaxes/`:           without("syntaxes/ptl.tmLanguage.json"),
		`no file "./language-configurat`: without("language-configuration.json"),
		"depends on left-pad":            changed(`  "main"`, `  "dependencies": {"left-pad": "1"}, "main"`),
		"no line of its version":         changed(`"version"`, `"revision"`),
		"package.json:":                  changed(`"main"`, `main`),
		"the type of x.exe":              append(extension(t), tree.File{Path: "x.exe", Mode: 0o644}),
	} {
		if _, err := Make(files, "1.2.3", at); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q, got %v", says, err)
		}
	}
}
