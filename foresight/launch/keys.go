package launch

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// newKeys are the settings of files, with none yet.
func newKeys(software string) *line {
	return &line{software: software, settings: map[string]given{}, read: map[string]bool{}, keys: true}
}

// key sets one by its name in the table. Values are text, as a command line has them, or what
// a decoder of TOML, JSON or YAML made of them.
func (l *line) key(flags map[string]*flag, name string, value any) error {
	f := flags[name]
	if f == nil {
		return unknown(l.software, name, "", slices.Collect(maps.Keys(flags)))
	}
	g := given{flag: f, key: true}
	if list, ok := value.([]any); ok && (f.kind == "many" || f.kind == "lists") {
		for _, x := range list {
			g.values = append(g.values, literal(x))
		}
	} else {
		g.values = []string{literal(value)}
		_, text := value.(string)
		g.bare = !text
	}
	if f.kind == "float" || f.kind == "int" {
		g.values[0] = strings.ReplaceAll(g.values[0], "_", "")
	}
	if err := g.check(); err != nil {
		return err
	}
	l.set(g)
	return nil
}

// literal is a value of a file as text.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case json.Number:
		return v.String()
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// kept is a setting as it is written again: a flag as a command line has it, a key with its
// value as JSON, which TOML and YAML read, too.
func (g given) kept() string {
	if !g.key {
		return g.text()
	}
	word := func(s string) string {
		switch g.kind {
		case "int", "float", "bool":
			return s
		}
		if g.bare && json.Valid([]byte(s)) || s == "null" || json.Valid([]byte(s)) && strings.HasPrefix(s, "[") {
			return s
		}
		text, err := json.Marshal(s)
		if err != nil { // no string is refused
			return "\"\""
		}
		return string(text)
	}
	var words []string
	for _, v := range g.values {
		words = append(words, word(v))
	}
	if g.kind == "many" || g.kind == "lists" {
		return g.name + " = [" + strings.Join(words, ", ") + "]"
	}
	return g.name + " = " + strings.Join(words, "")
}

// flatten calls do for every value of nested tables, by its path with points.
func flatten(prefix string, v map[string]any, do func(name string, value any) error) error {
	for _, k := range slices.Sorted(maps.Keys(v)) {
		name := prefix + k
		if table, ok := v[k].(map[string]any); ok {
			if err := flatten(name+".", table, do); err != nil {
				return err
			}
			continue
		}
		if err := do(name, v[k]); err != nil {
			return err
		}
	}
	return nil
}

// sortedKeys are the keys of a table, in order.
func sortedKeys(tree map[string]any) []string { return slices.Sorted(maps.Keys(tree)) }
