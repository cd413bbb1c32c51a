package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ptc/bench/matrix"
	"ptc/bench/recipes"
)

// entry is one compilation of the corpus.
type entry struct {
	name    string
	source  string // the text of the .ptl file
	file    string // where that text is, if it imports others, which are below the folder imports
	imports string
	set     []string // name=value
	layout  string   // empty for the file's first
	target  string
}

// targets are compared in turn over the rows of the matrix, so that each layout has some target and
// each target some fifty layouts. The reference target shows most passes and costs least.
var targets = []string{"ref", "cpu:x86-64-v3", "ref", "cuda:sm_90a", "ref", "cpu:x86-64-v4", "cuda:sm_80", "ref",
	"cpu:x86-64-v4+amx", "cuda:sm_89", "cpu:arm64"}

// corpus is the cases to compile; root is the folder of the module. With full, all recipes are part of it,
// and each row of the matrix with every model that has it.
func corpus(root string, full bool) ([]entry, error) {
	var all []entry
	for _, part := range []func(string, bool) ([]entry, error){examples, models, rows, published} {
		some, err := part(root, full)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// each is the entry for every target there is.
func each(e entry) (out []entry) {
	for _, t := range slices.Compact(slices.Sorted(slices.Values(targets))) {
		x := e
		x.target = t
		x.name = e.name + " " + t
		out = append(out, x)
	}
	return out
}

// examples are the files of examples/ at the sizes of bench/matrix, for every target, and those of
// examples/layouts with all of their layouts.
func examples(root string, _ bool) (out []entry, err error) {
	for _, m := range matrix.Models {
		text, err := m.Source(root)
		if err != nil {
			return nil, err
		}
		out = append(out, each(entry{name: "examples/" + m.Name, source: text, set: m.Set})...)
	}
	files, err := filepath.Glob(filepath.Join(root, "examples", "layouts", "*.ptl"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		out = append(out, entry{name: "examples/layouts/" + filepath.Base(file), source: string(text), file: file, imports: filepath.Join(root, "examples"), target: "cuda:sm_90a"})
	}
	return out, nil
}

// models are those of std.models in two layers and small sizes, in f32 and bf16.
func models(root string, _ bool) (out []entry, err error) {
	files, err := filepath.Glob(filepath.Join(root, "stdlib", "models", "*.ptl"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".ptl")
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		sizes := map[string]string{"layers": "2", "embed": "64", "heads": "4", "kv": "2", "head": "16", "ffn": "96", "vocab": "128",
			"batch": "4", "seq": "32", "context": "32", "window": "16", "experts": "4"}
		var set []string
		for _, key := range slices.Sorted(maps.Keys(sizes)) {
			if hasEntry(string(text), key) {
				set = append(set, key+"="+sizes[key])
			}
		}
		out = append(out, each(entry{name: "std.models." + name, source: string(text) + "\nlayout one { precision { compute = bf16 } }\n", set: set, layout: "one"})...)
	}
	return out, nil
}

// hasEntry reports whether the config of a source has the key on a line of its own.
func hasEntry(text, key string) bool {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == key && f[1] == "=" {
			return true
		}
	}
	return false
}

// rows are the layouts of bench/matrix, each with one model and target, or with all of its models.
func rows(root string, full bool) (out []entry, err error) {
	for i, l := range matrix.Layouts {
		var mine []matrix.Model
		for _, m := range matrix.Models {
			if l.For(m) {
				mine = append(mine, m)
			}
		}
		if !full {
			mine = mine[i%len(mine):][:1]
		}
		for _, m := range mine {
			text, set, err := matrix.Text(root, m, l)
			if err != nil {
				return nil, err
			}
			t := targets[(i+len(out)/len(matrix.Layouts))%len(targets)]
			out = append(out, entry{name: fmt.Sprintf("matrix/%s %s %s", m.Name, l.Name(), t), source: text, set: set, layout: matrix.LayoutName, target: t})
		}
	}
	return out, nil
}

// published are the recipes at their sizes: those that every run of the tests compiles, or all.
func published(root string, full bool) (out []entry, err error) {
	for i := range recipes.Table {
		r := &recipes.Table[i]
		if !r.Always && !full {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, "bench", "recipes", r.Model))
		if err != nil {
			return nil, err
		}
		out = append(out, entry{name: "recipes/" + r.Name, source: string(text) + "\n" + r.Layout(), set: r.Settings(), layout: "recipe", target: "cuda:sm_90a"})
	}
	return out, nil
}
