package hfclass

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Keys of rope and its kinds, which modeling_rope_utils.py reads. Old files have rope_theta
// outside, and what stretches rope in rope_scaling.
const (
	ropeKey     = "rope_parameters"
	ropeOld     = "rope_scaling"
	thetaKey    = "rope_theta"
	kindKey     = "rope_type"
	factorKey   = "factor"
	lowKey      = "low_freq_factor"
	highKey     = "high_freq_factor"
	originalKey = "original_max_position_embeddings"
	partialKey  = "partial_rotary_factor"

	ropeDefault = "default"
	ropeLlama3  = "llama3"
)

// stretches are the keys that kind llama3 has.
var stretches = []string{factorKey, lowKey, highKey, originalKey}

// readRope puts what a config says of rope in one form: all of it in rope_parameters, with a
// factor of 1 where it is not stretched.
func (c *class) readRope(config map[string]any) error {
	in, err := ropeOf(config)
	if err != nil {
		return err
	}
	for _, k := range slices.Sorted(maps.Keys(in)) {
		if _, nested := in[k].(map[string]any); nested {
			return fmt.Errorf("config.json has rope for each kind of layer (%s), which no model here computes", k)
		}
	}
	first := func(names ...any) (any, bool) { // of pairs of an object and a key
		for i := 0; i < len(names); i += 2 {
			if v, ok := names[i].(map[string]any)[names[i+1].(string)]; ok {
				return v, true
			}
		}
		return nil, false
	}
	theta, said := first(in, thetaKey, config, thetaKey)
	if !said {
		theta = c.Theta
	}
	if theta, err = number(thetaKey, theta); err != nil {
		return err
	}
	kind, said := first(in, kindKey, in, "type")
	if !said {
		kind = ropeDefault
	}
	out := map[string]any{thetaKey: theta, kindKey: kind, factorKey: json.Number("1.0"), lowKey: json.Number("0.0"), highKey: json.Number("0.0"), originalKey: json.Number("0")}
	if kind == ropeLlama3 {
		partial, said := first(in, partialKey, config, partialKey)
		if one, err := number(partialKey, partial); said && partial != nil && (err != nil || float(one) != 1) {
			return fmt.Errorf("config.json says %s = %s, which no model here computes", partialKey, shown(partial))
		}
		original, said := first(config, originalKey, in, originalKey)
		if !said {
			original = config["max_position_embeddings"]
		}
		if err := stretch(out, in, original); err != nil {
			return err
		}
	}
	delete(config, ropeOld)
	delete(config, thetaKey)
	config[ropeKey] = out
	return nil
}

// ropeOf is the object of rope: rope_scaling wins, unless it is empty.
func ropeOf(config map[string]any) (map[string]any, error) {
	for _, name := range []string{ropeOld, ropeKey} {
		switch v := config[name].(type) {
		case nil:
		case map[string]any:
			if len(v) > 0 {
				return v, nil
			}
		default:
			return nil, fmt.Errorf("config.json says %s = %s; expected an object", name, shown(v))
		}
	}
	return map[string]any{}, nil
}

// stretch reads what kind llama3 has.
func stretch(out, in map[string]any, original any) error {
	for _, name := range stretches {
		v, said := in[name]
		if name == originalKey {
			v, said = original, true
		}
		if !said {
			return fmt.Errorf("config.json lacks %s of rope, which is of type %s", name, ropeLlama3)
		}
		n, err := number(name, v)
		if err != nil {
			return err
		}
		if float(n) <= 0 {
			return fmt.Errorf("config.json says %s = %s; expected a number above 0", name, n)
		}
		out[name] = n
	}
	if low, high := out[lowKey].(json.Number), out[highKey].(json.Number); float(high) <= float(low) {
		return fmt.Errorf("config.json says %s = %s; expected more than %s, which is %s", highKey, high, lowKey, low)
	}
	return nil
}

// number is a value that has to be one, and finite.
func number(name string, v any) (json.Number, error) {
	n, ok := v.(json.Number)
	if x, err := n.Float64(); !ok || err != nil || x-x != 0 {
		return "", fmt.Errorf("config.json says %s = %s; expected a number", name, shown(v))
	}
	return n, nil
}

// float is a number that was read as one.
func float(n json.Number) float64 {
	x, _ := n.Float64() // is one
	return x
}
