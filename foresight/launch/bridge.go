package launch

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// bridge is a configuration of Megatron-Bridge: its fields by name, as `section.field`.
type bridge struct {
	fields map[string]any
	order  []string
	given  map[string]bool // by a command line, not by a file
	idle   map[string]int  // settings of files without effect, by section
	l      *line
}

// fromBridge reads what Megatron-Bridge resolves a recipe to, run_config.yaml, or overrides of
// one, as YAML and as section.field=value; later ones win. A config.json of transformers is the
// model that AutoBridge takes.
func fromBridge(in Input) (*Run, []Note, error) {
	c := &bridge{fields: map[string]any{}, given: map[string]bool{}, idle: map[string]int{}}
	if in.HF != nil {
		if err := c.hf(in.HF); err != nil {
			return nil, nil, err
		}
	}
	for _, f := range in.Files {
		if len(f.Text) > MaxInput {
			return nil, nil, fmt.Errorf("%s: it is longer than 1 MiB", f.Name)
		}
		var tree map[string]any
		if err := yaml.Unmarshal(f.Text, &tree); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		c.tree("", tree, false)
	}
	for _, a := range in.Args {
		name, value, ok := strings.Cut(strings.TrimLeft(a, "+"), "=")
		if !ok || strings.HasPrefix(a, "-") {
			return nil, nil, fmt.Errorf("`%s` is not section.field=value; files stand before --", a)
		}
		var v any
		if err := yaml.Unmarshal([]byte(value), &v); err != nil {
			v = value
		}
		if table, ok := v.(map[string]any); ok {
			c.tree(name+".", table, true)
			continue
		}
		c.set(name, v, true)
	}
	if err := c.read(); err != nil {
		return nil, nil, err
	}
	r, notes, err := megatronRun(c.l, in.Devices)
	if err != nil {
		return nil, nil, err
	}
	r.Software = "megatron-bridge"
	return r, append(c.others(), notes...), nil
}

// tree sets the fields of nested tables. A table with `_target_` and `_call_` is a value: a
// function, a dtype or an enumeration; `_target_` alone is a section's class.
func (c *bridge) tree(prefix string, v map[string]any, given bool) {
	for _, k := range sortedKeys(v) {
		name := prefix + k
		switch x := v[k].(type) {
		case map[string]any:
			if target, ok := x["_target_"].(string); ok && x["_call_"] != nil {
				c.set(name, target[strings.LastIndex(target, ".")+1:], given)
			} else {
				c.tree(name+".", x, given)
			}
		default:
			if k != "_target_" && !strings.HasPrefix(k, "_") {
				c.set(name, x, given)
			}
		}
	}
}

// set sets a field. Newer configurations have those of the layers in a section of the model's.
func (c *bridge) set(name string, v any, given bool) {
	if rest, ok := strings.CutPrefix(name, "model.transformer."); ok {
		name = "model." + rest
	}
	if _, again := c.fields[name]; !again {
		c.order = append(c.order, name)
	}
	c.fields[name], c.given[name] = v, given
}

// text is a field as a command line has it.
func (c *bridge) text(name string) string { return name + "=" + literal(c.fields[name]) }

// word sets a flag that a field says: a switch without values.
func (c *bridge) word(flag, name string, values ...string) error {
	f := megatronTable[flag]
	g := given{flag: f, values: values, as: name}
	if len(values) == 0 {
		g.as = c.text(name)
	}
	if err := g.check(); err != nil {
		return err
	}
	c.l.set(g)
	return nil
}

// read says in flags of Megatron-LM what the fields say.
func (c *bridge) read() error {
	c.l = &line{software: "Megatron-Bridge", settings: map[string]given{}, read: map[string]bool{}, names: bridgeLabels}
	for _, name := range c.order {
		section, field, nested := strings.Cut(name, ".")
		switch {
		case bridgeSpecial[name] || name == "mixed_precision":
		case bridgeIdle[section] != "":
			c.noEffect(section, name, bridgeIdle[section])
		case section == "peft":
			if c.fields[name] != nil {
				return fmt.Errorf("%s: adapters train a few parameters of a model; ptc trains all of them", c.text(name))
			}
		case !bridgeSections[section] || !nested:
			return unknown("Megatron-Bridge", section, "", append(slices.Collect(maps.Keys(bridgeSections)), slices.Collect(maps.Keys(bridgeIdle))...))
		default:
			if err := c.field(section, field, name); err != nil {
				return err
			}
		}
	}
	for _, step := range []func() error{c.precision, c.model, c.batch, c.sharding} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// field says a field of one section in a flag, unless another section wins.
func (c *bridge) field(section, field, name string) error {
	v := c.fields[name]
	flag := bridgeNames[field]
	if flag == "" {
		flag = strings.ReplaceAll(field, "_", "-")
	}
	f := megatronTable[flag]
	if f == nil || f.fate != translated {
		return c.other(section, field, name, f)
	}
	if _, wins := c.fields["mixed_precision."+field]; section != "mixed_precision" && wins {
		return nil // mixed_precision overrides the same field of other sections
	}
	switch x := v.(type) {
	case nil:
		return nil
	case bool:
		if f.kind != "switch" {
			return fmt.Errorf("%s: expected a value, not %v", c.text(name), x)
		}
		if x {
			return c.word(flag, name)
		}
		return nil
	case []any:
		if f.kind != "many" {
			return fmt.Errorf("%s: expected one value, not a list", c.text(name))
		}
		var words []string
		for _, w := range x {
			words = append(words, literal(w))
		}
		if len(words) == 0 {
			return nil
		}
		return c.word(flag, name, words...)
	}
	if f.kind == "switch" {
		return fmt.Errorf("%s: expected true or false", c.text(name))
	}
	return c.word(flag, name, literal(v))
}

// other is a field that is not translated: idle, or refused unless its value is harmless.
func (c *bridge) other(section, field, name string, f *flag) error {
	if g := bridgeOthers[field]; g != nil {
		f = g
	}
	if f == nil {
		var known []string
		for flag, f := range megatronTable {
			if f.fate == translated {
				known = append(known, section+"."+strings.ReplaceAll(flag, "-", "_"))
			}
		}
		return unknown("Megatron-Bridge", name, "", known)
	}
	if f.fate == refused && !harmless(f, c.fields[name]) {
		if field == "optimizer_offload_fraction" && c.fields["optimizer.optimizer_cpu_offload"] != true {
			return nil
		}
		return fmt.Errorf("%s: %s", c.text(name), f.why)
	}
	c.noEffect(section, name, f.why)
	return nil
}

// harmless reports whether a refused setting has a value that means what ptc does in any case.
func harmless(f *flag, v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case bool:
		return !x
	case []any:
		return len(x) == 0
	}
	text := strings.NewReplacer("float32", "fp32").Replace(literal(v))
	number, err := strconv.ParseFloat(text, 64)
	for _, h := range f.harmless {
		if y, wrong := strconv.ParseFloat(h, 64); text == h || err == nil && wrong == nil && number == y {
			return true
		}
	}
	return false
}

// noEffect notes a setting without effect on the layout: one of a file is counted, and one of the
// command line kept.
func (c *bridge) noEffect(section, name, why string) {
	if !c.given[name] {
		c.idle[section]++
		return
	}
	c.l.notes = append(c.l.notes, Note{c.text(name), why})
	c.l.kept = append(c.l.kept, c.text(name))
}

// others notes how many settings of files have no effect.
func (c *bridge) others() []Note {
	var parts []string
	for _, s := range slices.Sorted(maps.Keys(c.idle)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", s, c.idle[s]))
	}
	if len(parts) == 0 {
		return nil
	}
	return []Note{{strings.Join(parts, ", "), "settings of these sections of a file that change no layout; they stay in the file, and `ptc layout to megatron-bridge` writes overrides of it"}}
}
