package launch

import (
	"fmt"
	"slices"
	"strings"
)

// preset is a configuration that a Python module of torchtitan makes: functions of
// config_registry.py. Functions that choose kernels alone share a line.
type preset struct {
	module, names, flavor string
	// settings are name=value, of those that say something about the layout or training; tokens
	// is training.num_tokens_per_microbatch_per_dp_rank.
	settings string
}

// presets are those of torchtitan as of August 2026 (commit b5bcd76), of the models in flavors.
// The optimizer's other settings are torchtitan's defaults in all of them.
var presets = []preset{
	{"llama3", "llama3_debugmodel llama3_debugmodel_varlen_attn llama3_debugmodel_dist_gemm llama3_debugmodel_ce_loss", "debugmodel",
		"optimizer.lr=8e-4 lr_scheduler.warmup_steps=2 lr_scheduler.decay_ratio=0.8 tokens=16384 training.max_context_length=2048 training.steps=10 parallelism.pipeline_parallel_schedule=Interleaved1F1B"},
	{"llama3", "sft_debugmodel", "debugmodel", "optimizer.lr=8e-4 lr_scheduler.warmup_steps=2 lr_scheduler.decay_ratio=0.8 tokens=16384 training.max_context_length=2048 training.steps=10"},
	{"llama3", "llama3_debugmodel_float8", "debugmodel",
		"optimizer.lr=8e-4 lr_scheduler.warmup_steps=2 lr_scheduler.decay_ratio=0.8 tokens=16384 training.max_context_length=2048 training.steps=10 parallelism.pipeline_parallel_schedule=Interleaved1F1B model.converters=quantize.linear.float8"},
	{"llama3", "llama3_8b", "8B", "optimizer.lr=3e-4 tokens=8192 training.max_context_length=8192 training.steps=1000"},
	{"llama3", "llama3_70b", "70B", "optimizer.lr=1.5e-4 tokens=65536 training.max_context_length=8192 training.steps=1000 parallelism.tensor_parallel_degree=8 activation_checkpoint.mode=full"},
	{"llama3", "llama3_405b", "405B", "optimizer.lr=8e-5 lr_scheduler.warmup_steps=600 tokens=16384 training.max_context_length=8192 training.steps=3000 parallelism.tensor_parallel_degree=8 activation_checkpoint.mode=full model.converters=quantize.linear.float8"},
	{"qwen3", "qwen3_debugmodel qwen3_debugmodel_flex_flash qwen3_debugmodel_non_fused_qkv", "debugmodel", "optimizer.lr=8e-4 lr_scheduler.warmup_steps=2 lr_scheduler.decay_ratio=0.8 tokens=16384 training.max_context_length=2048 training.steps=10"},
	{"qwen3", "qwen3_0_6b", "0.6B", "optimizer.lr=3e-4 lr_scheduler.warmup_steps=2 tokens=16384 training.max_context_length=4096 training.steps=10"},
	{"qwen3", "qwen3_1_7b", "1.7B", "optimizer.lr=8e-4 lr_scheduler.warmup_steps=20 tokens=16384 training.max_context_length=4096 training.steps=100"},
	{"qwen3", "sft_qwen3_8b_math", "8B", "optimizer.lr=2e-5 lr_scheduler.warmup_steps=15 lr_scheduler.decay_ratio=0.9 lr_scheduler.decay_type=cosine lr_scheduler.min_lr_factor=0.1 tokens=2048 training.max_context_length=2048 training.steps=180"},
	{"qwen3", "qwen3_14b", "14B", "optimizer.lr=8e-4 lr_scheduler.warmup_steps=600 tokens=16384 training.max_context_length=4096 training.steps=3000 activation_checkpoint.mode=full"},
	{"qwen3", "qwen3_32b", "32B", "optimizer.lr=8e-4 lr_scheduler.warmup_steps=600 tokens=8192 training.max_context_length=4096 training.steps=3000 activation_checkpoint.mode=full"},
	{"qwen3", "qwen3_moe_debug", "debugmodel_moe", "optimizer.lr=3e-4 lr_scheduler.warmup_steps=2 tokens=16384 training.max_context_length=4096 training.steps=10"},
	{"qwen3", "qwen3_moe_deepep", "debugmodel_moe", "optimizer.lr=3e-4 lr_scheduler.warmup_steps=2 tokens=1024 training.max_context_length=512 training.steps=10 parallelism.expert_parallel_degree=4"},
	{"qwen3", "qwen3_30b_a3b", "30B-A3B", "optimizer.lr=8e-4 lr_scheduler.warmup_steps=600 tokens=8192 training.max_context_length=4096 training.steps=3000 activation_checkpoint.mode=full"},
}

// preset sets what `--module M --config C` of a command line stand for, and is the rest of it.
func (l *line) preset(args []string) (rest []string, err error) {
	given := map[string]string{}
	for i := 0; i < len(args); i++ {
		name, value, inline := strings.Cut(args[i], "=")
		if name != "--module" && name != "--config" {
			rest = append(rest, args[i])
			continue
		}
		if !inline {
			if i++; i == len(args) {
				return nil, fmt.Errorf("%s needs a value", name)
			}
			value = args[i]
		}
		given[name] = value
	}
	if len(given) == 0 {
		return args, nil
	}
	for _, name := range []string{"--module", "--config"} {
		if given[name] == "" {
			return nil, fmt.Errorf("%s is missing: both say which configuration it is, such as --module llama3 --config llama3_8b", name)
		}
	}
	if len(l.order) > 0 {
		return nil, fmt.Errorf("--config %s and a TOML file contradict each other: both say the whole configuration", given["--config"])
	}
	module := strings.TrimPrefix(given["--module"], "torchtitan.models.")
	text := fmt.Sprintf("--module %s --config %s", given["--module"], given["--config"])
	i := slices.IndexFunc(presets, func(p preset) bool {
		return p.module == module && slices.Contains(strings.Fields(p.names), given["--config"])
	})
	if i < 0 {
		return nil, noPreset(text, module)
	}
	p := presets[i]
	settings := "model.name=" + p.module + " model.flavor=" + p.flavor + " " + strings.Replace(p.settings, "tokens=", "training.num_tokens_per_microbatch_per_dp_rank=", 1)
	for s := range strings.FieldsSeq(settings) {
		name, value, _ := strings.Cut(s, "=")
		var v any = value
		if torchtitanTable[name].kind == "many" {
			v = split(value)
		}
		if err := l.key(torchtitanTable, name, v); err != nil {
			return nil, err
		}
	}
	l.notes = append(l.notes, Note{text, "the settings of this function of torchtitan in August 2026; options after it win"})
	return rest, nil
}

// noPreset is the error for a Python configuration that presets lacks.
func noPreset(given, module string) error {
	if torchtitanOthers[module] != "" {
		return noFlavor(given, module)
	}
	var known []string
	for _, p := range presets {
		known = append(known, strings.Fields(p.names)...)
	}
	return fmt.Errorf("%s: ptc runs no Python, and knows of its configurations %s; write what this one says as options, such as --model.name llama3 --model.flavor 8B --training.steps 1000", given, strings.Join(known, ", "))
}
