package stdlib

import (
	"embed"
	"sort"
	"strings"
)

//go:embed *.ptl
var files embed.FS

// Implicit lists the files whose declarations every file sees by their bare
// names, in the order in which they are looked up.
var Implicit = []string{"math", "schedule"}

// Read is the text of std.name, or false where there is none.
func Read(name string) (string, bool) {
	if strings.ContainsAny(name, `/\`) {
		return "", false
	}
	b, err := files.ReadFile(name + ".ptl")
	return string(b), err == nil
}

// Names lists what can be imported, sorted.
func Names() []string {
	entries, _ := files.ReadDir(".") // an embedded root is always there
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".ptl"))
	}
	sort.Strings(names)
	return names
}
