package hfclass

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

//go:embed defaults.json
var text []byte

// table is defaults.json.
type table struct {
	ReadFrom string            `json:"read_from"`
	Must     map[string]any    `json:"must"`
	Kept     []string          `json:"kept"` // keys of training, which do not change what is computed
	Same     [][]string        `json:"same"` // names of one activation
	Classes  map[string]*class `json:"classes"`
}

// class is a configuration class.
type class struct {
	Name   string         `json:"class"`
	Theta  json.Number    `json:"rope_theta"` // the base of rope; empty where there is none
	Tokens map[string]any `json:"tokens"`     // keys of the tokenizer, on which the model does not depend
	Keys   map[string]key `json:"keys"`
}

// key is a key of a class.
type key struct {
	Default any      `json:"default"`
	Missing any      `json:"missing"`
	Null    any      `json:"null"`
	HasNull bool     `json:"-"` // null has a rule
	Type    string   `json:"type"`
	Also    []string `json:"also"`
}

// Types of keys.
const (
	typeInt   = "int"
	typeFloat = "float"
	typeBool  = "bool"
	typeText  = "text"
	typeList  = "list"
)

// Rules that are words.
const (
	ruleOff     = "off"
	ruleWindows = "windows"
)

// known is the table; a table that cannot be read is a mistake of ours, which any test finds.
var known = func() *table {
	var t table
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&t); err != nil {
		panic(fmt.Sprintf("hfclass: defaults.json: %v", err))
	}
	return &t
}()

// UnmarshalJSON tells a null rule that is false from none.
func (k *key) UnmarshalJSON(text []byte) error {
	type plain key
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode((*plain)(k)); err != nil {
		return err
	}
	k.HasNull = k.Null != nil
	if k.Type == "" {
		k.Type = typeOf(k.Default)
	}
	return nil
}

// typeOf is the type of a value of a config.
func typeOf(v any) string {
	switch v := v.(type) {
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return typeInt
		}
		return typeFloat
	case bool:
		return typeBool
	case string:
		return typeText
	case []any:
		return typeList
	}
	return ""
}

// Known is whether a model_type has a class here.
func Known(family string) bool { return known.Classes[family] != nil }

// Families are the model_types, sorted.
func Families() []string { return slices.Sorted(maps.Keys(known.Classes)) }

// Keys are those of a family on which its model depends, sorted; rope is not among them.
func Keys(family string) []string {
	if c := known.Classes[family]; c != nil {
		return slices.Sorted(maps.Keys(c.Keys))
	}
	return nil
}

// Kept are keys that do not change what a model computes, and that training by transformers reads.
func Kept() []string { return known.Kept }

// Token is what the class takes for a key of the tokenizer that is missing.
func Token(family, name string) (any, bool) {
	c := known.Classes[family]
	if c == nil {
		return nil, false
	}
	v, ok := c.Tokens[name]
	return v, ok
}
