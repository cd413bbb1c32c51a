package family

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"ptc/internal/diag"
	_ "ptc/lang/directive" // whose directives the grammar has
	"ptc/lang/keymap"
	"ptc/lang/syntax"
	"ptc/stdlib"
)

// Config gives the value of a key, and whether there is one.
type Config func(key string) (any, bool)

// Known lists the families.
func Known() []string { return stdlib.Models() }

// window bounds the length of sequences that a source begins with.
const window = 1024

// Source is a source for the model of a family with a config. Folder is where its
// parameters and tokenizer will be, for those who export it again.
func Source(family string, config Config, folder string) (string, error) {
	text, ok := stdlib.Read(path.Join("models", family))
	if family == "" {
		return "", errors.New("config.json lacks model_type, which names the family")
	}
	if !ok {
		err := fmt.Errorf("the family %q is not known; expected %s", family, diag.OneOf(Known()))
		if hint := diag.DidYouMean(family, Known()); hint != "" {
			err = fmt.Errorf("%w; %s", err, hint)
		}
		return "", err
	}
	block, err := blockOf(family, text)
	if err != nil {
		return "", err
	}
	var entries []string
	seen := map[string]bool{}
	context := ""
	for _, r := range keymap.Reads(block, text) {
		if r.Entry == "" || seen[r.Entry] {
			continue
		}
		seen[r.Entry] = true
		v, err := entry(r, config)
		if err != nil {
			return "", err
		}
		entries = append(entries, r.Entry+" = "+v)
		if r.Entry == "context" {
			context = v
		}
	}
	seq := window
	if n, err := strconv.Atoi(context); err == nil {
		seq = min(seq, n)
	}
	source := fmt.Sprintf("// A model of the family %s, with the sizes of its config.json. The parameters are in\n"+
		"// init.safetensors next to this file: `ptc run PLAN --init init.safetensors`.\n"+
		"import std.models.%s\n\nconfig {\n%s\n\nbatch = 1\nseq = %d\ncorpus = \"corpus/*.bin\"  // files of tokens\n"+
		"origin = %s  // this folder: what is exported takes the tokenizer from here\n}\n\nlayout single { }\n",
		family, family, strings.Join(entries, "\n"), seq, strconv.Quote(folder))
	out, errs := syntax.Format("model.ptl", []byte(source))
	if len(errs) > 0 {
		return "", errs
	}
	return string(out), nil
}

// blockOf is the block of names of a family for config.json.
func blockOf(family, text string) (*syntax.Names, error) {
	tree, errs := syntax.Parse("std/models/"+family+".ptl", []byte(text))
	if len(errs) > 0 {
		return nil, errs
	}
	for _, d := range tree.Decls {
		if n, ok := d.(*syntax.Names); ok && keymap.FormatOf(n) == "hf" {
			return n, nil
		}
	}
	return nil, fmt.Errorf("std.models.%s has no names for config.json", family)
}

// entry is the expression that an entry gets.
func entry(r keymap.Read, config Config) (string, error) {
	for _, k := range r.Names {
		if v, ok := config(k); ok {
			return literal(k, v)
		}
	}
	if r.Default == "" {
		return "", fmt.Errorf("config.json lacks %s", strings.Join(r.Names, " and "))
	}
	return r.Default, nil
}

// literal is a value in the language.
func literal(key string, v any) (string, error) {
	switch v := v.(type) {
	case json.Number:
		s := strings.ToLower(v.String())
		if x, err := strconv.ParseFloat(s, 64); err == nil && x-x == 0 {
			return s, nil
		}
	case bool:
		return strconv.FormatBool(v), nil
	case string:
		return strconv.Quote(v), nil
	}
	return "", fmt.Errorf("config.json has for %s neither a finite number, a string, true nor false", key)
}
