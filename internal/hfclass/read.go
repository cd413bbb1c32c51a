package hfclass

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Read is a config as the class of its family reads it: each key has its value, and null
// means none. A family without a class here is returned as it is. The config is not changed.
func Read(family string, config map[string]any) (map[string]any, error) {
	c := known.Classes[family]
	if c == nil {
		return config, nil
	}
	for _, name := range slices.Sorted(maps.Keys(known.Must)) {
		want := known.Must[name]
		if have, ok := config[name]; ok && have != want {
			return nil, fmt.Errorf("config.json says %s = %s, which no model here computes", name, shown(have))
		}
	}
	out := maps.Clone(config)
	var derived []string // in the end, as they read others
	for _, name := range slices.Sorted(maps.Keys(c.Keys)) {
		k := c.Keys[name]
		v, said := k.of(name, config)
		switch {
		case !said && k.Default != nil:
			out[name] = k.Default
		case !said && k.Missing != nil, v == nil && (k.HasNull || !said):
			derived = append(derived, name)
		case v == nil:
			return nil, fmt.Errorf("config.json says %s = null, which %s of transformers rejects", name, c.Name)
		default:
			v, err := c.value(name, k, v)
			if err != nil {
				return nil, err
			}
			out[name] = v
		}
	}
	for _, name := range derived {
		rule := c.Keys[name].Null
		if _, said := c.Keys[name].of(name, config); !said && c.Keys[name].Missing != nil {
			rule = c.Keys[name].Missing
		}
		v, err := derive(rule, out)
		if err != nil {
			return nil, fmt.Errorf("config.json lacks %s: %w", name, err)
		}
		out[name] = v
	}
	c.windows(out)
	heads, err1 := whole("num_attention_heads", out)
	if kv, err2 := whole("num_key_value_heads", out); err1 == nil && err2 == nil && (kv < 1 || heads%kv != 0) {
		return nil, fmt.Errorf("config.json gives num_attention_heads = %d and num_key_value_heads = %d; expected a multiple", heads, kv)
	}
	if c.Theta != "" {
		if err := c.readRope(out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// of is what a config says for a key, under any of its names.
func (k key) of(name string, config map[string]any) (v any, said bool) {
	for _, n := range append(slices.Clone(k.Also), name) {
		if v, said = config[n]; said {
			return v, true
		}
	}
	return nil, false
}

// value checks one that is not null.
func (c *class) value(name string, k key, v any) (any, error) {
	have := typeOf(v)
	if have != k.Type && !(k.Type == typeFloat && have == typeInt) {
		return nil, fmt.Errorf("config.json says %s = %s, and %s of transformers takes %s", name, shown(v), c.Name, typeWords[k.Type])
	}
	if n, ok := v.(json.Number); ok {
		x, err := n.Float64()
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("config.json says %s = %s, which is not a finite number", name, shown(v))
		}
		if k.Null == ruleOff && x <= 0 {
			return nil, fmt.Errorf("config.json says %s = %s; expected a number above 0, or null for none", name, shown(v))
		}
	}
	if s, ok := v.(string); ok { // another name of the same activation
		for _, group := range known.Same {
			if d, _ := k.Default.(string); slices.Contains(group, s) && slices.Contains(group, d) {
				return d, nil
			}
		}
	}
	return v, nil
}

var typeWords = map[string]string{typeInt: "a whole number", typeFloat: "a number", typeBool: "true or false", typeText: "a string", typeList: "a list"}

// shown is a value in a message.
func shown(v any) string {
	if n, ok := v.(json.Number); ok { // NaN is none that JSON can write
		return n.String()
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	const most = 80
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}

// derive is the value of a rule; nil where it is off.
func derive(rule any, config map[string]any) (any, error) {
	s, ok := rule.(string)
	if !ok {
		return rule, nil
	}
	if s == ruleOff {
		return nil, nil
	}
	if s == ruleWindows {
		return kinds(config), nil
	}
	a, op, b := s, "", ""
	if f := strings.Fields(s); len(f) == 3 {
		a, op, b = f[0], f[1], f[2]
	}
	x, err := whole(a, config)
	if err != nil || op == "" {
		return json.Number(strconv.FormatInt(x, 10)), err
	}
	y, err := whole(b, config)
	switch {
	case err != nil:
		return nil, err
	case op == "/" && y > 0:
		x /= y
	case op == "*" && x < math.MaxInt32 && y < math.MaxInt32 && y > 0:
		x *= y
	default:
		return nil, fmt.Errorf("%s is no number", s)
	}
	return json.Number(strconv.FormatInt(x, 10)), nil
}

// whole is a number, or the value of a key.
func whole(s string, config map[string]any) (int64, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	n, ok := config[s].(json.Number)
	if !ok {
		return 0, fmt.Errorf("%s is no number", s)
	}
	return n.Int64()
}

// Kinds of layers.
const (
	kindFull    = "full_attention"
	kindSliding = "sliding_attention"
)

// maxLayers bounds a list of layers that a config asks for.
const maxLayers = 10_000

// kinds is the list that Qwen's classes make: windows from a layer on, where they are used.
func kinds(config map[string]any) any {
	layers, err1 := whole("num_hidden_layers", config)
	from, err2 := whole("max_window_layers", config)
	if config["use_sliding_window"] != true || config["sliding_window"] == nil || err1 != nil || err2 != nil || from >= layers {
		return []any{kindFull}
	}
	var out []any
	for i := range min(layers, maxLayers) {
		kind := kindFull
		if i >= from {
			kind = kindSliding
		}
		out = append(out, kind)
	}
	return out
}

// windows says that none is used where no layer has one.
func (c *class) windows(config map[string]any) {
	list, _ := config["layer_types"].([]any)
	if _, uses := c.Keys["use_sliding_window"]; uses && !slices.Contains(list, any(kindSliding)) {
		config["use_sliding_window"] = false
	}
}
