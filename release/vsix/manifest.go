package vsix

import (
	"encoding/xml"
	"strings"
)

// manifest is the file extension.vsixmanifest, of the schema of VSIX 2.0. Its properties
// are those that Visual Studio Code and its gallery read.
func (a *about) manifest(version string) ([]byte, error) {
	type property struct {
		ID    string `xml:"Id,attr"`
		Value string `xml:",attr"`
	}
	type asset struct {
		Type        string `xml:",attr"`
		Path        string `xml:",attr"`
		Addressable bool   `xml:",attr"`
	}
	type identity struct {
		Language  string `xml:",attr"`
		ID        string `xml:"Id,attr"`
		Version   string `xml:",attr"`
		Publisher string `xml:",attr"`
	}
	type target struct {
		ID string `xml:"Id,attr"`
	}
	type metadata struct {
		Identity     identity
		DisplayName  string
		Description  string
		Tags         string
		Categories   string
		GalleryFlags string
		Properties   []property `xml:"Properties>Property"`
	}
	m := struct {
		XMLName      xml.Name `xml:"http://schemas.microsoft.com/developer/vsx-schema/2011 PackageManifest"`
		Version      string   `xml:",attr"`
		Metadata     metadata
		Targets      []target `xml:"Installation>InstallationTarget"`
		Dependencies string
		Assets       []asset `xml:"Assets>Asset"`
	}{Version: "2.0.0", Targets: []target{{"Microsoft.VisualStudio.Code"}}}
	m.Metadata = metadata{Identity: identity{"en-US", a.Name, version, a.Publisher}, DisplayName: a.DisplayName, Description: a.Description,
		Tags: strings.Join(a.tags(), ","), Categories: strings.Join(a.Categories, ","), GalleryFlags: "Public"}
	m.Metadata.Properties = []property{
		{"Microsoft.VisualStudio.Code.Engine", a.Engines.VSCode},
		{"Microsoft.VisualStudio.Code.ExtensionDependencies", ""},
		{"Microsoft.VisualStudio.Code.ExtensionPack", ""},
		{"Microsoft.VisualStudio.Code.ExtensionKind", "workspace"}, // where the binary is
		{"Microsoft.VisualStudio.Code.LocalizedLanguages", ""},
	}
	if strings.Contains(version, "-") {
		m.Metadata.Properties = append(m.Metadata.Properties, property{"Microsoft.VisualStudio.Code.PreRelease", "true"})
	}
	m.Assets = []asset{
		{"Microsoft.VisualStudio.Code.Manifest", "extension/package.json", true},
		{"Microsoft.VisualStudio.Services.Content.Details", "extension/README.md", true},
	}
	return document(m)
}

// tags are the words by which the gallery finds an extension for a file.
func (a *about) tags() (out []string) {
	for _, l := range a.Contributes.Languages {
		out = append(out, l.ID)
		for _, e := range l.Extensions {
			out = append(out, "__ext_"+strings.TrimPrefix(e, "."))
		}
	}
	return out
}
