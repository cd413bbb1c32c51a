package stdlib

import (
	"embed"
	"sort"
	"strings"
)

//go:embed *.ptl models/*.ptl
var files embed.FS

// modelsFolder is where whole models are: published families, each with a config,
// a train block and its names elsewhere.
const modelsFolder = "models/"

// Implicit lists the files whose declarations every file sees by their bare
// names, in the order in which they are looked up.
var Implicit = []string{"math", "schedule"}

// Read is the text of std.name, or of std.models.name for models/name; false where
// there is none.
func Read(name string) (string, bool) {
	if strings.ContainsAny(strings.TrimPrefix(name, modelsFolder), `/\.`) {
		return "", false
	}
	b, err := files.ReadFile(name + ".ptl")
	return string(b), err == nil
}

// IsModel says whether a name is that of a whole model, models/llama.
func IsModel(name string) bool { return strings.HasPrefix(name, modelsFolder) }

// Names lists the libraries that can be imported, sorted.
func Names() []string { return list(".") }

// Models lists the families of std.models, sorted.
func Models() []string { return list(strings.TrimSuffix(modelsFolder, "/")) }

func list(folder string) []string {
	entries, _ := files.ReadDir(folder) // an embedded folder is always there
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".ptl"); ok {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}
