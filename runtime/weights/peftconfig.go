package weights

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// peftConfig is what an adapter_config.json says of the factors that stand next to it.
type peftConfig struct {
	Type    string          `json:"peft_type"`
	Rank    int64           `json:"r"`
	Alpha   json.Number     `json:"lora_alpha"`
	Root    bool            `json:"use_rslora"` // the scale is alpha / √rank
	Targets json.RawMessage `json:"target_modules"`
	Ranks   json.RawMessage `json:"rank_pattern"`
	Alphas  json.RawMessage `json:"alpha_pattern"`
	Tying   bool            `json:"ensure_weight_tying"`

	Parameters []string `json:"target_parameters"` // of experts

	ranks, alphas []pattern
	targets       []string
	target        *regexp.Regexp // in place of targets
	all           bool           // every module may be one
}

// pattern is a number for the modules whose path ends as an expression says.
type pattern struct {
	expr  *regexp.Regexp
	value float64
}

// Limits of patterns, which are of strangers.
const (
	maxPatterns   = 100_000
	maxPatternLen = 4096
	maxRank       = 1 << 16
)

// unread are the keys that change nothing of what an adapter is once it is trained.
var unread = []string{"peft_type", "r", "lora_alpha", "use_rslora", "target_modules", "rank_pattern", "alpha_pattern", "ensure_weight_tying",
	"auto_mapping", "base_model_name_or_path", "bias", "exclude_modules", "fan_in_fan_out", "inference_mode", "layers_pattern", "layers_to_transform",
	"lora_dropout", "megatron_core", "modules_to_save", "peft_version", "qalora_group_size", "revision", "runtime_config", "target_parameters", "task_type",
	"velora_config", "loftq_config", "eva_config"}

// startsOver are the ways of starting factors that change the weights next to them.
var startsOver = []string{"pissa", "olora", "corda", "loftq", "lora_ga"}

func parsePeft(text []byte) (*peftConfig, error) {
	all, err := parseConfig(text)
	if err != nil {
		return nil, err
	}
	c := &peftConfig{}
	if err := json.Unmarshal(plainNumbers(text), c); err != nil {
		return nil, fmt.Errorf("not a config of an adapter: %w", err)
	}
	if !strings.EqualFold(c.Type, "LORA") {
		return nil, fmt.Errorf("peft_type is %q, and low-rank adapters, LORA, alone are read", c.Type)
	}
	if err := refuseUnread(all); err != nil {
		return nil, err
	}
	if c.Rank < 1 || c.Rank > maxRank {
		return nil, fmt.Errorf("r is %d; expected a rank from 1 to %d", c.Rank, maxRank)
	}
	if a, err := c.Alpha.Float64(); err != nil || math.IsNaN(a) || math.IsInf(a, 0) {
		return nil, fmt.Errorf("lora_alpha is %q; expected a number", c.Alpha)
	}
	if c.ranks, err = patterns("rank_pattern", c.Ranks); err != nil {
		return nil, err
	}
	if c.alphas, err = patterns("alpha_pattern", c.Alphas); err != nil {
		return nil, err
	}
	return c, c.readTargets()
}

// refuseUnread is an error where a key asks for what is not computed here.
func refuseUnread(all Config) error {
	var more []string
	for k, v := range all {
		if !slices.Contains(unread, k) && k != "init_lora_weights" && !off(v) {
			more = append(more, k)
		}
	}
	if len(more) > 0 {
		slices.Sort(more)
		return fmt.Errorf("the adapter has %s, and adapters of that kind are not read", few(more))
	}
	if start, ok := all["init_lora_weights"].(string); ok {
		for _, s := range startsOver {
			if strings.HasPrefix(start, s) {
				return fmt.Errorf("init_lora_weights is %q, by which the weights next to the adapter are others than the model's; PEFT converts such adapters: save_pretrained(…, path_initial_model_for_weight_conversion=…)", start)
			}
		}
	}
	return nil
}

// off is whether a value asks for nothing.
func off(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// patterns are those of an object, in its order: the first that fits a module counts.
func patterns(key string, text json.RawMessage) ([]pattern, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("%s is no object", key)
	}
	var out []pattern
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		var n json.Number
		if err := d.Decode(&n); err != nil {
			return nil, fmt.Errorf("%s has for %v no number", key, name)
		}
		x, err := n.Float64()
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("%s has for %v %s; expected a number", key, name, n)
		}
		expr, err := expression(fmt.Sprint(name), `^(?:.*\.)?(?:`, `)$`)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if out = append(out, pattern{expr, x}); len(out) > maxPatterns {
			return nil, fmt.Errorf("%s has more than %d patterns", key, maxPatterns)
		}
	}
	return out, nil
}

// expression compiles one of Python's, as far as it has the same form here.
func expression(text, before, behind string) (*regexp.Regexp, error) {
	if len(text) > maxPatternLen {
		return nil, fmt.Errorf("a pattern of %d bytes", len(text))
	}
	expr, err := regexp.Compile(before + text + behind)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q cannot be read: %w", text, err)
	}
	return expr, nil
}

func (c *peftConfig) readTargets() error {
	text := ""
	switch {
	case len(c.Targets) == 0 || string(c.Targets) == "null":
		c.all = true
	case json.Unmarshal(c.Targets, &c.targets) == nil:
	case json.Unmarshal(c.Targets, &text) == nil && strings.EqualFold(text, "all-linear"):
		c.all = true
	case text != "":
		expr, err := expression(text, `^(?:`, `)$`)
		if err != nil {
			return fmt.Errorf("target_modules: %w", err)
		}
		c.target = expr
	default:
		return fmt.Errorf("target_modules is neither a list of names nor a pattern")
	}
	return nil
}

// targeted is whether the config has an adapter for a module.
func (c *peftConfig) targeted(module string) bool {
	if c.all {
		return true
	}
	if c.target != nil {
		return c.target.MatchString(module)
	}
	return slices.ContainsFunc(c.targets, func(t string) bool { return module == t || strings.HasSuffix(module, "."+t) })
}

// of are the rank and the scale of a module.
func (c *peftConfig) of(module string) (rank int64, scale float64, err error) {
	rank = c.Rank
	alpha, _ := c.Alpha.Float64() // was read
	for _, p := range c.ranks {
		if p.expr.MatchString(module) {
			if p.value < 1 || p.value > maxRank || p.value != math.Trunc(p.value) {
				return 0, 0, fmt.Errorf("rank_pattern gives %s the rank %v", module, p.value)
			}
			rank = int64(p.value)
			break
		}
	}
	for _, p := range c.alphas {
		if p.expr.MatchString(module) {
			alpha = p.value
			break
		}
	}
	if c.Root {
		return rank, alpha / math.Sqrt(float64(rank)), nil
	}
	return rank, alpha / float64(rank), nil
}
