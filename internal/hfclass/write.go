package hfclass

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Write puts a config that a model gave in the forms of its class: whole numbers and others as
// the class wants them, and rope for old and new versions. A family without a class here
// stays as it is. What the class would refuse is an error.
func Write(family string, config map[string]any) error {
	c := known.Classes[family]
	if c == nil {
		return nil
	}
	for _, name := range Keys(family) {
		k := c.Keys[name]
		v, ok := config[name].(json.Number)
		if !ok {
			continue
		}
		if v = typed(v, k.Type); k.Type == typeInt && typeOf(v) != typeInt {
			return fmt.Errorf("the model says %s = %s, and %s of transformers takes %s", name, v, c.Name, typeWords[typeInt])
		}
		config[name] = v
	}
	if c.Theta == "" {
		return nil
	}
	rope, ok := config[ropeKey].(map[string]any)
	delete(config, ropeOld)
	if !ok {
		return nil
	}
	theta, ok := rope[thetaKey].(json.Number)
	if !ok {
		theta = c.Theta
	}
	out := map[string]any{thetaKey: typed(theta, typeFloat), kindKey: ropeDefault}
	config[thetaKey], config[ropeKey] = out[thetaKey], out
	if kind := rope[kindKey]; kind != ropeLlama3 {
		if kind != nil {
			out[kindKey] = kind
		}
		return nil
	}
	stretched := map[string]any{kindKey: ropeLlama3}
	if err := stretch(stretched, rope, rope[originalKey]); err != nil {
		return fmt.Errorf("%s cannot have this rope: %s", c.Name, strings.Replace(err.Error(), "config.json", "the model", 1))
	}
	for _, name := range stretches {
		kind := typeFloat
		if name == originalKey {
			kind = typeInt
		}
		stretched[name] = typed(stretched[name].(json.Number), kind)
		out[name] = stretched[name]
	}
	out[kindKey], config[ropeOld] = ropeLlama3, stretched
	return nil
}

// typed is a number as a class wants it: 30 as 30.0 where that is no whole number, and 30.0 as 30
// where it is one.
func typed(n json.Number, kind string) json.Number {
	switch x, err := n.Float64(); {
	case err != nil:
	case kind == typeFloat && typeOf(n) == typeInt:
		return n + ".0"
	case kind == typeInt && typeOf(n) == typeFloat && x == float64(int64(x)):
		return json.Number(strconv.FormatInt(int64(x), 10))
	}
	return n
}

// Unsaid are keys of the family's class that a config does not have, whose value the class then
// takes to be something of its own.
func Unsaid(family string, config map[string]any) (out []Default) {
	for _, name := range Keys(family) {
		k := known.Classes[family].Keys[name]
		if config["use_sliding_window"] == false && (name == "sliding_window" || name == "max_window_layers") {
			continue // nothing reads them
		}
		if _, said := k.of(name, config); !said && k.Default != nil {
			out = append(out, Default{name, shown(k.Default), known.Classes[family].Name, k.Type == typeInt})
		}
	}
	return out
}

// Default is a key that a config does not have, and what a class takes it for; Size is whether it
// is a whole number.
type Default struct {
	Key, Value, Class string
	Size              bool
}

// String is a sentence about it.
func (d Default) String() string {
	return fmt.Sprintf("config.json lacks %s, and %s of transformers takes %s", d.Key, d.Class, d.Value)
}
