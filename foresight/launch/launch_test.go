package launch

import (
	goflag "flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = goflag.Bool("update", false, "write testdata")

// small are flags of a model that is small, which every case of Megatron-LM needs.
const small = "--num-layers 8 --hidden-size 64 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 --vocab-size 512 --micro-batch-size 1 "

// llama are those of a model of Llama's kind.
const llama = small + "--normalization RMSNorm --swiglu --disable-bias-linear --position-embedding-type rope --untie-embeddings-and-output-weights "

func TestMegatronFlags(t *testing.T) {
	for _, c := range []struct {
		name, flags string
		devices     int
		want        func(r *Run) bool
	}{
		{"defaults", small, 4, func(r *Run) bool {
			return r.FFN == 256 && r.Head == 8 && r.KV == 8 && r.Shards == 4 && r.Batch == 4 && r.Tied && r.Bias && r.Act == "gelu_tanh" && r.Positions == "learned" && r.Norm == "layer" && r.Beta2 == 0.999 && r.Decay == "linear"
		}},
		{"two thirds of an MLP", llama, 1, func(r *Run) bool { return r.FFN == 128 && r.Gated && r.Act == "silu" }},
		{"equals sign", strings.ReplaceAll(small, "--hidden-size 64", "--hidden-size=64"), 1, func(r *Run) bool { return r.Embed == 64 }},
		{"the last one wins", small + "--num-layers 4", 1, func(r *Run) bool { return r.Layers == 4 }},
		{"virtual stages by layers", llama + "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2 --global-batch-size 8", 4, func(r *Run) bool { return r.Chunks == 2 && r.Schedule == "interleaved" && r.Microbatches() == 4 }},
		{"one virtual stage is none", llama + "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 4", 2, func(r *Run) bool { return r.Chunks == 1 && r.Schedule == "1f1b" }},
		{"uneven stages", small + "--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 1 --decoder-last-pipeline-num-layers 3", 4, func(r *Run) bool { return slices.Equal(r.Stages, []int{1, 2, 2, 3}) }},
		{"stages, written out", small + "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout E,t|(tt|)*2,t*3L --global-batch-size 8", 2, func(r *Run) bool {
			return slices.Equal(r.Stages, []int{1, 2, 2, 3}) && r.Chunks == 2 && r.Schedule == "interleaved"
		}},
		{"one stage a device, written out", small + "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout (Et|)*1(tt|)*2tttL", 4, func(r *Run) bool {
			return slices.Equal(r.Stages, []int{1, 2, 2, 3}) && r.Chunks == 1 && r.Schedule == "1f1b"
		}},
		{"even stages, written out", small + "--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout Ett|(t*2|)*2ttL", 4, func(r *Run) bool { return r.Stages == nil && r.Chunks == 1 }},
		{"embedding and loss as blocks", strings.ReplaceAll(small, "--num-layers 8", "--num-layers 10") + "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 3 --global-batch-size 8 --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split", 2, func(r *Run) bool {
			return slices.Equal(r.Stages, []int{2, 3, 3, 2}) && r.Chunks == 2
		}},
		{"a ring", small + "--context-parallel-size 2 --cp-comm-type p2p", 2, func(r *Run) bool { return r.Ring && r.Zigzag }},
		{"gathered keys and values", small + "--context-parallel-size 2 --cp-comm-type all_gather", 2, func(r *Run) bool { return !r.Ring && !r.Zigzag }},
		{"padded vocabulary", strings.ReplaceAll(small, "--vocab-size 512", "--vocab-size 501") + "--tensor-model-parallel-size 4", 4, func(r *Run) bool { return r.Vocab == 512 }},
		{"vocabulary that needs no padding", small + "--tensor-model-parallel-size 8", 8, func(r *Run) bool { return r.Vocab == 512 }},
		{"warm-up as a fraction", small + "--train-iters 500 --lr-decay-iters 400 --lr-warmup-fraction .1", 1, func(r *Run) bool { return r.Warmup == 40 && r.DecaySteps == 400 && r.Steps == 500 }},
		{"steps in samples", small + "--train-samples 800 --global-batch-size 8 --lr-warmup-samples 80", 1, func(r *Run) bool { return r.Steps == 100 && r.Warmup == 10 }},
		{"negative numbers are values", small + "--min-lr -1 --num-workers 2", 1, func(r *Run) bool { return r.MinLR == -1 }},
		{"full recomputation", small + "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1", 1, func(r *Run) bool { return r.Recompute == "full" }},
		{"recomputed MLPs", small + "--recompute-activations --recompute-modules core_attn mlp", 1, func(r *Run) bool { return r.Recompute == "mlp" }},
		{"replicas of the optimizer", small + "--use-distributed-optimizer --num-distributed-optimizer-instances 2", 8, func(r *Run) bool { return r.Zero == 1 && r.Replicas == 2 && r.Shards == 4 }},
		{"sharded parameters", small + "--use-megatron-fsdp --ckpt-format fsdp_dtensor", 8, func(r *Run) bool { return r.Zero == 3 }},
		{"experts", llama + "--num-experts 8 --expert-model-parallel-size 4 --moe-ffn-hidden-size 32", 8, func(r *Run) bool { return r.Experts == 8 && r.Chosen == 2 && r.EP == 4 && r.Shards == 8 && r.FFN == 32 }},
		{"f16", small + "--fp16 --loss-scale 4096", 1, func(r *Run) bool { return r.Compute == "f16" && r.Params == "f16" && r.Scale == 4096 }},
	} {
		r, _, err := fromMegatron(Input{Devices: c.devices, Args: strings.Fields(c.flags)})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if !c.want(r) {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

// TestMistakes: contradictions name both settings, and what ptc lacks says why.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		software, args string
		devices        int
		want           []string
	}{
		{"megatron", llama + "--context-parallel-size 5", 64, []string{"--devices 64", "--context-parallel-size 5"}},
		{"megatron", small + "--tensor-model-parallel-size 3", 3, []string{"--num-attention-heads 8", "--tensor-model-parallel-size 3"}},
		{"megatron", small + "--global-batch-size 6", 4, []string{"--global-batch-size 6", "--micro-batch-size 1"}},
		{"megatron", small + "--bf16 --fp16", 1, []string{"--bf16", "--fp16"}},
		{"megatron", small + "--pipeline-model-parallel-size 3", 3, []string{"--num-layers 8", "--pipeline-model-parallel-size 3"}},
		{"megatron", small + "--group-query-attention --num-query-groups 3", 1, []string{"--num-query-groups 3", "--num-attention-heads 8"}},
		{"megatron", small + "--expert-model-parallel-size 2", 2, []string{"--expert-model-parallel-size 2", "--num-experts"}},
		{"megatron", llama + "--num-experts 8 --expert-model-parallel-size 4", 6, []string{"--expert-model-parallel-size 4", "--devices 6"}},
		{"megatron", small + "--tensor-model-parallel-siz 2", 2, []string{"tensor-model-parallel-siz", "did you mean"}},
		{"megatron", small + "--bf16 true", 1, []string{"`true` is neither a flag"}},
		{"megatron", small + "--lr fast", 1, []string{"--lr", "`fast` is not a number"}},
		{"megatron", small + "--multi-latent-attention", 1, []string{"multi-latent attention"}},
		{"megatron", small + "--tensor-model-parallel-size 99999999999", 1, []string{"--tensor-model-parallel-size 99999999999"}},
		{"megatron", small + "--train-iters 5 --train-samples 5", 1, []string{"--train-iters 5", "--train-samples 5"}},
		{"megatron", small + "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*3|m|t*5L", 2, []string{"Et*3|m|t*5L", "several tokens"}},
		{"megatron", small + "--pipeline-model-parallel-size 3 --pipeline-model-parallel-layout Et*4||t*4L", 3, []string{"stage 2 of 3 has no block"}},
		{"megatron", small + "--pipeline-model-parallel-size 3 --pipeline-model-parallel-layout Et*4|t*4L", 3, []string{"2 stages", "--pipeline-model-parallel-size 3"}},
		{"megatron", small + "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*4|t*5L", 2, []string{"9 blocks", "--num-layers 8"}},
		{"megatron", small + "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout t*4|t*4L", 2, []string{"one E"}},
		{"megatron", small + "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Ex*4|t*4L", 2, []string{"`x`"}},
		{"megatron", small + "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout E(t*9999|)*9999L", 2, []string{"more than"}},
		{"megatron", small + "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*4|t*4L --decoder-first-pipeline-num-layers 4", 2, []string{"--decoder-first-pipeline-num-layers 4", "Et*4|t*4L"}},
		{"megatron", small + "--pipeline-model-parallel-size 8 --account-for-loss-in-pipeline-split", 8, []string{"--account-for-loss-in-pipeline-split", "9 layers"}},
		{"megatron", strings.ReplaceAll(small, "--num-layers 8", "--num-layers 7") + "--pipeline-model-parallel-size 8 --account-for-loss-in-pipeline-split", 8, []string{"more stages than layers"}},
		{"megatron", small + "--context-parallel-size 2 --cp-comm-type a2a", 2, []string{"--cp-comm-type a2a", "use p2p"}},
		{"megatron", small + "--context-parallel-size 2 --cp-comm-type a2a+p2p", 2, []string{"--cp-comm-type a2a+p2p", "use p2p"}},
		{"megatron", small + "--context-parallel-size 2 --cp-comm-type p2p all_gather", 2, []string{"p2p all_gather", "all layers"}},
		{"megatron", small + "--context-parallel-size 2 --cp-comm-type ring", 2, []string{"--cp-comm-type ring", "expected"}},
		{"torchtitan", "--model.flavor 8B --parallelism.tensor_parallel_degree 3", 8, []string{"--devices 8", "tensor_parallel_degree = 3"}},
		{"torchtitan", "--model.flavor 8B --training.global_batch_size 9", 8, []string{"global_batch_size = 9", "local_batch_size"}},
		{"torchtitan", "--model.flavour 8B", 8, []string{"model.flavour", "did you mean"}},
		{"torchtitan", "--model.name flux", 8, []string{"flux", "diffusion"}},
		{"torchtitan", "--module llama3", 8, []string{"--config is missing"}},
		{"torchtitan", "--module llama3 --config", 8, []string{"--config needs a value"}},
		{"torchtitan", "--module llama3 --config llama3_9b", 8, []string{"llama3_9b", "llama3_8b", "as options"}},
		{"torchtitan", "--module deepseek_v3 --config deepseek_v3_16b", 8, []string{"deepseek_v3_16b", "multi-latent attention"}},
		{"torchtitan", "--model.name llama4 --model.flavor 17bx16e", 8, []string{"llama4", "shared experts"}},
		{"megatron-bridge", bridgeSmall + "model.tensor_model_parallel_size=3", 3, []string{"model.num_attention_heads=8", "model.tensor_model_parallel_size=3"}},
		{"megatron-bridge", bridgeSmall + "model.context_parallel_size=5", 64, []string{"--devices 64", "model.context_parallel_size=5"}},
		{"megatron-bridge", bridgeSmall + "train.global_batch_size=6", 4, []string{"train.global_batch_size=6", "train.micro_batch_size=1"}},
		{"megatron-bridge", bridgeSmall + "dataset.seq_length=64", 1, []string{"model.seq_length=128", "dataset.seq_length=64"}},
		{"megatron-bridge", bridgeSmall + "model.bf16=true model.fp16=true", 1, []string{"model.bf16=true", "model.fp16=true"}},
		{"megatron-bridge", bridgeSmall + "model.multi_latent_attention=true", 1, []string{"model.multi_latent_attention=true", "multi-latent attention"}},
		{"megatron-bridge", bridgeSmall + "model.tensor_model_parallel_siz=2", 1, []string{"model.tensor_model_parallel_siz", "did you mean"}},
		{"megatron-bridge", bridgeSmall + "modell.num_layers=2", 1, []string{"`modell`", "did you mean"}},
		{"megatron-bridge", bridgeSmall + "mixed_precision=bf16_with_nvfp4_mixed", 1, []string{"nvfp4", "four bits"}},
		{"megatron-bridge", bridgeSmall + "mixed_precision=bf17", 1, []string{"bf17", "no such recipe"}},
		{"megatron-bridge", bridgeSmall + "model.hidden_size=wide", 1, []string{"model.hidden_size", "`wide` is not a whole number"}},
		{"megatron-bridge", bridgeSmall + "model.hidden_size=[1,2]", 1, []string{"model.hidden_size", "not a list"}},
		{"megatron-bridge", bridgeSmall + "model.sequence_parallel=3", 1, []string{"model.sequence_parallel=3", "true or false"}},
		{"megatron-bridge", bridgeSmall + "model.gated_linear_unit=true model.activation_func=gelu", 1, []string{"model.activation_func=gelu"}},
		{"megatron-bridge", bridgeSmall + "peft.dim=8", 1, []string{"peft.dim=8", "adapters"}},
		{"megatron-bridge", bridgeSmall + "--verbose", 1, []string{"`--verbose` is not section.field=value"}},
		{"megatron-bridge", "model.num_layers=8", 1, []string{"model.hidden_size is missing"}},
		{"megatron-bridge", bridgeSmall + "model.pipeline_model_parallel_size=2 model.pipeline_model_parallel_layout=[[embedding,decoder],[decoder,head]]", 2, []string{"`head`"}},
		{"maxtext", "ici_fsdp_parallelism=4 ici_tensor_parallelism=4", 8, []string{"--devices 8", "ici_tensor_parallelism = 4"}},
		{"maxtext", "attention_type=mla", 8, []string{"attention_type = mla"}},
		{"maxtext", "model_name=llama3-8b", 8, []string{"llama3-8b.yml"}},
		{"deepspeed", small + "--zero-stage 4", 1, []string{"zero"}},
	} {
		s, _ := Named(c.software)
		_, _, err := s.From(Input{Devices: c.devices, Args: strings.Fields(c.args)})
		if err == nil {
			t.Errorf("%s %s: no error", c.software, c.args)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s %s: %v; expected %q in it", c.software, c.args, err, w)
			}
		}
	}
}

// TestNothingIsDropped: every setting of a table is translated and read by some run, or has a
// reason, which the notes then have.
func TestNothingIsDropped(t *testing.T) {
	for _, g := range [][]group{megatronOthers, maxtextOthers, torchtitanKeys, deepspeedKeys, deepspeedFlags} {
		for _, x := range g {
			if x.fate != translated && x.why == "" {
				t.Errorf("no reason for %s", x.words)
			}
		}
	}
	l, err := parse("Megatron-LM", megatronTable, strings.Fields(llama+"--pipeline-model-parallel-size 2 --group-query-attention --num-experts 8 --optimizer adam --bf16"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := megatronRun(l, 4); err != nil {
		t.Fatal(err)
	}
	read := maps.Clone(l.read)
	for _, more := range []string{"--use-torch-fsdp2", "--fp16", "--recompute-granularity full --recompute-method block --recompute-num-layers 8", "--optimizer sgd", "--optimizer lion", "--lr-warmup-fraction .1",
		"--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2 --global-batch-size 2", "--tokenizer-type NullTokenizer", "--add-qkv-bias"} {
		l, err := parse("Megatron-LM", megatronTable, strings.Fields(small+more))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := megatronRun(l, 2); err != nil {
			t.Fatalf("%s: %v", more, err)
		}
		maps.Copy(read, l.read)
	}
	for name, f := range megatronTable {
		if f.fate == translated && !read[name] && !slices.Contains([]string{"tokenizer-type"}, name) {
			t.Errorf("--%s is in the table and never read", name)
		}
	}
	_, notes, err := fromMegatron(Input{Devices: 1, Args: strings.Fields(small + "--log-interval 7 --data-path a b --hidden-dropout 0.1")})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"--log-interval 7", "--data-path a b", "--hidden-dropout 0.1"} {
		if !slices.ContainsFunc(notes, func(n Note) bool { return strings.Contains(n.String(), w) }) {
			t.Errorf("no note about %s in %v", w, notes)
		}
	}
}

// TestGoldens: what a configuration becomes, to be read.
func TestGoldens(t *testing.T) {
	in := Input{Devices: 16, Args: strings.Fields(llama + "--group-query-attention --num-query-groups 4 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2 --sequence-parallel --use-distributed-optimizer --recompute-granularity selective --bf16 --global-batch-size 32 --log-interval 10 --lr 3e-4 --min-lr 3e-5 --lr-decay-style cosine --train-iters 1000")}
	r, notes, err := fromMegatron(in)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Source(r, "megatron", notes)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "run.ptl", text)
	back, err := readBack(t, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range All() {
		if s.Name == "deepspeed" {
			back.Schedule, back.Chunks = "1f1b", 1
		}
		text, _, err := s.To(back)
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		golden(t, s.Name+".txt", text)
		back.Schedule, back.Chunks = "interleaved", 2
	}
}

func golden(t *testing.T, name, text string) {
	t.Helper()
	file := "testdata/" + name
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != text {
		t.Errorf("%s differs: go test ./foresight/launch -update\n%s", file, text)
	}
}

func TestTorchtitanFiles(t *testing.T) {
	const text = `
[model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 4
seq_len = 4096
[parallelism]
tensor_parallel_degree = 2
pipeline_parallel_degree = 4
context_parallel_degree = 1
pipeline_parallel_schedule = "Interleaved1F1B"
[metrics]
log_freq = 5
`
	r, _, err := fromTorchtitan(Input{Devices: 32, Files: []File{{"a.toml", []byte(text)}}, Args: []string{"--activation_checkpoint.mode=full", "--compile.enable", "--training.steps", "50"}})
	if err != nil {
		t.Fatal(err)
	}
	if r.TP != 2 || r.PP != 4 || r.Shards != 4 || r.Chunks != 2 || r.Zero != 2 || r.Microbatches() != 4 || r.Recompute != "full" || r.Steps != 50 || r.FFN != 14336 {
		t.Errorf("%+v", r)
	}
	if !slices.Equal(r.Stages, []int{4, 5, 4, 4, 4, 4, 4, 3}) {
		t.Errorf("stages %v", r.Stages)
	}
	if !slices.Equal(r.Kept, []string{"metrics.log_freq = 5", "compile.enable = true"}) {
		t.Errorf("kept %q", r.Kept)
	}
}

// TestTorchtitanPresets: Python configurations are known by name, and options after the name win.
func TestTorchtitanPresets(t *testing.T) {
	for _, c := range []struct {
		args    string
		devices int
		want    func(r *Run) bool
	}{
		{"--module llama3 --config llama3_8b", 8, func(r *Run) bool {
			return r.FFN == 14336 && r.Seq == 8192 && r.Micro == 1 && r.Batch == 8 && r.TP == 1 && r.Zero == 3 && r.LR == 3e-4 && r.Steps == 1000 && r.Recompute == "none"
		}},
		{"--module=torchtitan.models.llama3 --config=llama3_405b --parallelism.pipeline_parallel_degree 2 --parallelism.num_pp_microbatches 4", 64, func(r *Run) bool {
			return r.Layers == 126 && r.TP == 8 && r.PP == 2 && r.Shards == 4 && r.Products == "f8" && r.Recompute == "full" && r.Batch == 32 && r.Warmup == 600
		}},
		{"--module qwen3 --config qwen3_30b_a3b --parallelism.expert_parallel_degree 8", 16, func(r *Run) bool { return r.Experts == 128 && r.EP == 8 && r.QKNorm && r.Steps == 3000 }},
		{"--module llama3 --config llama3_debugmodel --training.steps 7 --hf_assets_path x", 2, func(r *Run) bool { return r.Steps == 7 && r.Decay == "linear" && r.Warmup == 2 }},
	} {
		r, _, err := fromTorchtitan(Input{Devices: c.devices, Args: strings.Fields(c.args)})
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
		} else if !c.want(r) {
			t.Errorf("%s: %+v", c.args, r)
		}
	}
	for _, p := range presets {
		for name := range strings.FieldsSeq(p.names) {
			if _, _, err := fromTorchtitan(Input{Devices: 128, Args: []string{"--module", p.module, "--config", name}}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestDeepSpeedFiles(t *testing.T) {
	json := `{"train_batch_size": 32, "gradient_accumulation_steps": 2, "zero_optimization": {"stage": 3, "stage3_max_live_parameters": 1e9, "offload_optimizer": {"device": "cpu", "pin_memory": true}},
		"bf16": {"enabled": "auto"}, "fp16": {"enabled": true, "loss_scale": 0}, "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "betas": [0.9, 0.98], "eps": "auto"}}, "steps_per_print": 10}`
	hf := `{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 128, "vocab_size": 512, "max_position_embeddings": 256, "rms_norm_eps": 1e-6, "rope_theta": 500000.0}`
	r, _, err := fromDeepSpeed(Input{Devices: 8, Files: []File{{"ds.json", []byte(json)}}, HF: []byte(hf), Args: []string{"--seq-length", "128"}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Zero != 3 || r.Batch != 32 || r.Micro != 2 || r.Compute != "f16" || r.Scale != 0 || r.Beta2 != 0.98 || r.LR != 1e-4 || r.KV != 4 || r.Base != 500000 || r.Eps != 1e-6 || r.Tied || !slices.Equal(r.Offload, []string{"optimizer"}) || r.Decay != "constant" {
		t.Errorf("%+v", r)
	}
}

// TestDeepSpeedKeeps: numbers and switches without effect on the layout stay numbers and switches, and the JSON's
// scale of the loss wins over that of the flags.
func TestDeepSpeedKeeps(t *testing.T) {
	json := `{"train_batch_size": 8, "fp16": {"enabled": true, "loss_scale": 0, "hysteresis": 2, "initial_scale_power": 11}, "flops_profiler": {"enabled": true, "output_file": null, "detailed": false}, "comms_logger": {"debug": "11"}}`
	r, _, err := fromDeepSpeed(Input{Devices: 8, Files: []File{{"ds.json", []byte(json)}}, Args: strings.Fields(small + "--fp16 --loss-scale 12")})
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := toDeepSpeed(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{`"hysteresis": 2,`, `"initial_scale_power": 11`, `"enabled": true`, `"output_file": null`, `"detailed": false`, `"debug": "11"`, `"loss_scale": 0`, "--loss-scale 12"} {
		if !strings.Contains(text, w) {
			t.Errorf("no %s in %s", w, text)
		}
	}
	r, _, err = fromMegatron(Input{Devices: 1, Args: strings.Fields(small + "--bf16 --loss-scale 12")})
	if err != nil || !slices.Contains(r.Kept, "--loss-scale 12") {
		t.Errorf("%v, kept %v", err, r)
	}
}

func FuzzFrom(f *testing.F) {
	f.Add("megatron", small+"--bf16")
	f.Add("torchtitan", "[model]\nflavor = \"8B\"\n[parallelism]\ntensor_parallel_degree = 2\n")
	f.Add("deepspeed", `{"train_batch_size": 8, "megatron_deepspeed_flags": "`+small+`"}`)
	f.Add("megatron-bridge", "model:\n  num_layers: 4\n  hidden_size: 64\n  num_attention_heads: 4\n  seq_length: 64\n  vocab_size: 128\n  activation_func: {_target_: torch.nn.functional.silu, _call_: false}\ntrain: {micro_batch_size: 1}\nmixed_precision: bf16_mixed\n")
	f.Add("maxtext", "base_emb_dim: 64\nbase_mlp_dim: 128\nici_fsdp_parallelism: 8\nmlp_activations: [\"gelu\"]\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		s, ok := Named(name)
		if !ok {
			return
		}
		r, notes, err := s.From(Input{Devices: 8, Files: []File{{"f", []byte(text)}}, HF: []byte(text)})
		if err != nil {
			r, notes, err = s.From(Input{Devices: 8, Files: []File{{"f", []byte(text)}}})
		}
		if err != nil {
			return
		}
		if _, err := Source(r, "l", notes); err != nil && strings.Contains(err.Error(), "E01") {
			t.Errorf("the source has a mistake: %v", err)
		}
		for _, s := range All() {
			if _, _, err := s.To(r); err != nil && err.Error() == "" {
				t.Error("an error without a word")
			}
		}
	})
}
