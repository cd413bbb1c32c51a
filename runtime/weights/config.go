package weights

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"ptc/internal/hfclass"
	"ptc/runtime/program"
)

// Config is a config.json.
type Config map[string]any

// ReadConfig reads that of a folder.
func ReadConfig(dir string) (Config, error) {
	path := filepath.Join(dir, configFile)
	text, err := readIn(dir, configFile, maxConfig)
	if err != nil {
		return nil, err
	}
	c, err := parseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Read is the config as the class of transformers reads it that its model_type names: what is
// missing has the class's default, and null is what it means there.
func (c Config) Read() (Config, error) {
	family, _ := c["model_type"].(string)
	return hfclass.Read(family, c)
}

// Sizes says which sizes the class had to take for its own, after what the files have was found to
// be others; empty where the config has them all.
func (c Config) Sizes() string {
	family, _ := c["model_type"].(string)
	var out []string
	for _, d := range hfclass.Unsaid(family, c) {
		if d.Size {
			out = append(out, d.String())
		}
	}
	return few(out)
}

func parseConfig(text []byte) (Config, error) {
	d := json.NewDecoder(bytes.NewReader(plainNumbers(text)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("not a config: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("not a config: there is text behind the object")
	}
	c, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("not a config: no object")
	}
	if !restore(&v) {
		return nil, fmt.Errorf("not a config: a number stands for a key")
	}
	return c, nil
}

// Get is the value of a key with points, and whether it is there and not null.
func (c Config) Get(key string) (any, bool) {
	at := map[string]any(c)
	parts := strings.Split(key, ".")
	for _, p := range parts[:len(parts)-1] {
		next, ok := at[p].(map[string]any)
		if !ok {
			return nil, false
		}
		at = next
	}
	v := at[parts[len(parts)-1]]
	return v, v != nil
}

// set writes the value of a key with points.
func (c Config) set(key string, v any) {
	at := map[string]any(c)
	parts := strings.Split(key, ".")
	for _, p := range parts[:len(parts)-1] {
		next, ok := at[p].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[p] = next
		}
		at = next
	}
	at[parts[len(parts)-1]] = v
}

// Check reports a key whose value is not the model's: what the model computes is then
// not what the config says.
func (c Config) Check(n *program.Names) error {
	for _, k := range n.Keys {
		for _, name := range k.Names {
			have, ok := c.Get(name)
			if !ok || same(have, k.Value) {
				continue
			}
			text, err := json.Marshal(have)
			if err != nil {
				return err
			}
			return fmt.Errorf("%s gives %s = %s, and a model of the family %s as std.models.%s has it computes with %s", configFile, name, text, n.Family, n.Family, k.Value)
		}
	}
	return nil
}

// same compares a value with one in JSON; null is 0, and a list is repeated.
func same(have any, want string) bool {
	if strings.HasPrefix(want, "[") {
		var elems []json.RawMessage
		list, ok := have.([]any)
		if !ok || json.Unmarshal([]byte(want), &elems) != nil || len(elems) == 0 {
			return false
		}
		for i, v := range list {
			if !same(v, string(elems[i%len(elems)])) {
				return false
			}
		}
		return true
	}
	if want == "null" {
		want = "0"
	}
	if n, ok := have.(json.Number); ok {
		var w json.Number
		if json.Unmarshal([]byte(want), &w) != nil {
			return false
		}
		x, err1 := n.Float64()
		y, err2 := w.Float64()
		return err1 == nil && err2 == nil && x == y
	}
	text, err := json.Marshal(have)
	return err == nil && string(text) == want
}

// tokens are keys about the tokenizer: the model does not depend on them.
var tokens = []string{"bos_token_id", "eos_token_id", "pad_token_id"}

// config is the config.json of names, with what origin, which may be nil, says of the
// tokenizer. Keys of a class of transformers are all written: other programs, and other
// versions, may take one that is missing for something else.
func config(n *program.Names, origin Config, d string) ([]byte, error) {
	c, err := said(n)
	if err != nil {
		return nil, err
	}
	if err := hfclass.Write(n.Family, c); err != nil {
		return nil, err
	}
	c["model_type"], c["architectures"], c["torch_dtype"] = n.Family, []string{n.Architecture}, d
	if origin["model_type"] == n.Family { // what training there reads
		for _, k := range hfclass.Kept() {
			if v, there := origin[k]; there && c[k] == nil && writable(v) {
				c[k] = v
			}
		}
	}
	for _, t := range tokens {
		if v, ok := token(n.Family, t, origin); ok {
			c[t] = v
		}
	}
	text, err := json.MarshalIndent(c, "", "  ") // in order of key
	return append(text, '\n'), err
}

// said is what names say of the config.
func said(n *program.Names) (Config, error) {
	c := Config{}
	for _, k := range n.Keys {
		if k.Default && (!hfclass.Known(n.Family) || strings.HasPrefix(k.Value, "[")) { // a list is repeated, how often is not known
			continue
		}
		for _, name := range k.Names {
			var v any
			if err := json.Unmarshal([]byte(k.Value), &v); err != nil {
				return nil, fmt.Errorf("the value %s of %s: %w", k.Value, name, err)
			}
			if _, number := v.(float64); number {
				v = json.Number(k.Value)
			}
			c.set(name, v)
		}
	}
	return c, nil
}

// writable is whether JSON has a value: it has no NaN.
func writable(v any) bool {
	_, err := json.Marshal(v)
	return err == nil
}

// token is a key of the tokenizer: what its folder says or its class takes; without a
// folder there is no such token, where the class of the family would take one.
func token(family, name string, origin Config) (v any, write bool) {
	if origin == nil {
		return nil, hfclass.Known(family)
	}
	if v, said := origin[name]; said && writable(v) {
		return v, true
	}
	kind, _ := origin["model_type"].(string)
	v, known := hfclass.Token(kind, name)
	return v, known && kind != family
}

// Unsaid are keys that the names do not write, and whose value a class of transformers then takes
// to be its own.
func Unsaid(n *program.Names) ([]hfclass.Default, error) {
	c, err := said(n)
	if err != nil || n.Format != "hf" {
		return nil, err
	}
	for _, k := range n.Keys {
		for _, name := range k.Names {
			if _, said := c[name]; !said && !strings.Contains(name, ".") { // a list, which the class makes
				c[name] = true
			}
		}
	}
	return hfclass.Unsaid(n.Family, c), nil
}
