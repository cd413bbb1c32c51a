package weights

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"

	"ptc/internal/hfclass"
	"ptc/runtime/program"
)

// adapterConfig is the adapter_config.json of adapters. The rank is that of most modules, and others
// are in the patterns.
func adapterConfig(list []lowRank, n *program.Names, base string) ([]byte, error) {
	var ranks []int64
	var alphas []float64
	for _, l := range list {
		ranks = append(ranks, l.rank)
	}
	rank := common(ranks)
	for _, l := range list {
		alphas = append(alphas, alphaOf(&l))
	}
	alpha := alphas[0]
	for i := range list { // that of a module with the common rank, so that most need no pattern
		if ranks[i] == rank {
			alpha = alphas[i]
			break
		}
	}
	targets, of := targetsOf(list, n)
	ranksOf, alphasOf := map[string]int64{}, map[string]float64{}
	for t, modules := range of {
		for _, i := range modules {
			key := regexp.QuoteMeta(list[i].module)
			if alike(modules, ranks) && alike(modules, alphas) {
				key = regexp.QuoteMeta(t)
			}
			if ranks[i] != rank {
				ranksOf[key] = ranks[i]
			}
			if alphas[i] != alpha {
				alphasOf[key] = alphas[i]
			}
		}
	}
	c := map[string]any{
		"peft_type": "LORA", "task_type": "CAUSAL_LM", "auto_mapping": nil, "revision": nil, "inference_mode": true,
		"base_model_name_or_path": nil, "r": rank, "lora_alpha": alpha, "lora_dropout": 0.0, "target_modules": targets,
		"rank_pattern": ranksOf, "alpha_pattern": alphasOf, "fan_in_fan_out": hfclass.RowsIn(n.Family),
		"bias": "none", "use_rslora": false, "use_dora": false, "init_lora_weights": true,
		"modules_to_save": nil, "layers_to_transform": nil, "layers_pattern": nil,
	}
	if base != "" {
		c["base_model_name_or_path"] = base
	}
	text, err := json.MarshalIndent(c, "", "  ") // in order of key
	return append(text, '\n'), err
}

// alike is whether some of a list are equal.
func alike[T comparable](which []int, list []T) bool {
	for _, i := range which {
		if list[i] != list[which[0]] {
			return false
		}
	}
	return true
}

// alphaOf is the number that PEFT divides by the rank: a whole one where it gives the same scale.
func alphaOf(l *lowRank) float64 {
	alpha := l.scale * float64(l.rank)
	if whole := math.Round(alpha); whole/float64(l.rank) == l.scale {
		return whole
	}
	return alpha
}

// targetsOf are the names by which PEFT finds the modules: of each the fewest last parts of its path that no
// module without an adapter has as well; and the modules of each such name.
func targetsOf(list []lowRank, n *program.Names) (names []string, of map[string][]int) {
	adapted := map[string]bool{}
	for _, l := range list {
		adapted[l.module] = true
	}
	others := map[string]bool{} // ends of paths of modules without an adapter
	for _, t := range n.Tensors {
		module := strings.TrimSuffix(t.Name, weightSuffix)
		if adapted[module] || module == t.Name {
			continue
		}
		for _, end := range ends(module) {
			others[end] = true
		}
	}
	of = map[string][]int{}
	for i, l := range list {
		target := l.module
		for _, end := range ends(l.module) {
			if !others[end] {
				target = end
				break
			}
		}
		if of[target] == nil {
			names = append(names, target)
		}
		of[target] = append(of[target], i)
	}
	return names, of
}

// ends are the last part of a path with points, the last two, and so on.
func ends(path string) []string {
	parts := strings.Split(path, ".")
	var out []string
	for i := len(parts) - 1; i >= 0; i-- {
		out = append(out, strings.Join(parts[i:], "."))
	}
	return out
}

// NameOf is what the config of a folder says that the model is called; empty where it does not.
func NameOf(dir string) string {
	c, err := ReadConfig(dir)
	if err != nil {
		return ""
	}
	name, _ := c["_name_or_path"].(string)
	return name
}
