package launch

import (
	"slices"
	"strings"
	"testing"
)

// bridgeSmall are overrides that say a small model.
const bridgeSmall = "model.num_layers=8 model.hidden_size=64 model.num_attention_heads=8 model.seq_length=128 model.vocab_size=512 train.micro_batch_size=1 "

// TestBridgeRecipe: a resolved configuration with the numbers of the recipe that Megatron-Bridge has for Llama 3 70B on
// 64 H100s. Sections without effect are counted, and fields with their defaults are no errors.
func TestBridgeRecipe(t *testing.T) {
	const text = `
_target_: megatron.bridge.training.config.ConfigContainer
model:
  _target_: megatron.bridge.models.gpt_provider.GPTModelProvider
  num_layers: 80
  hidden_size: 8192
  ffn_hidden_size: 28672
  num_attention_heads: 64
  num_query_groups: 8
  kv_channels: null
  vocab_size: 128256
  seq_length: 8192
  normalization: RMSNorm
  layernorm_epsilon: 1.0e-05
  gated_linear_unit: true
  activation_func: {_target_: torch.nn.functional.silu, _call_: false}
  add_bias_linear: false
  share_embeddings_and_output_weights: false
  position_embedding_type: rope
  rotary_base: 500000
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 4
  virtual_pipeline_model_parallel_size: 5
  context_parallel_size: 2
  sequence_parallel: true
  pipeline_dtype: {_target_: torch.bfloat16, _call_: false}
  multi_latent_attention: false
  mtp_num_layers: null
  softmax_scale: null
  moe_router_num_groups: null
  cpu_offloading: false
  cpu_offloading_num_layers: 0
  fp32_residual_connection: false
  recompute_granularity: null
  cuda_graph_impl: none
  attention_dropout: 0.0
train: {train_iters: 1000, global_batch_size: 256, micro_batch_size: 1, manual_gc: true}
optimizer: {optimizer: adam, lr: 0.0003, min_lr: 3.0e-05, weight_decay: 0.1, adam_beta2: 0.95, main_grads_dtype: {_target_: torch.float32, _call_: false}, optimizer_offload_fraction: 0.0, bf16: true}
scheduler: {lr_decay_style: cosine, lr_warmup_iters: 500, lr_decay_iters: null, start_weight_decay: 0.033, end_weight_decay: 0.033}
ddp: {use_distributed_optimizer: true, grad_reduce_in_fp32: true, overlap_grad_reduce: true, use_megatron_fsdp: false, data_parallel_sharding_strategy: no_shard}
mixed_precision: {_target_: megatron.bridge.training.mixed_precision.MixedPrecisionConfig, bf16: true, fp8: null, grad_reduce_in_fp32: true}
dataset: {seq_length: 8192, num_workers: 8}
tokenizer: {tokenizer_type: NullTokenizer, vocab_size: 128256}
logger: {log_interval: 10}
checkpoint: {save_interval: 500, load: null}
peft: null
`
	in := Input{Devices: 64, Files: []File{{"run_config.yaml", []byte(text)}}, Args: []string{"train.train_iters=2000", "+logger.log_interval=1"}}
	r, notes, err := fromBridge(in)
	if err != nil {
		t.Fatal(err)
	}
	if r.TP != 4 || r.PP != 4 || r.CP != 2 || r.Shards != 2 || r.Zero != 1 || r.Chunks != 5 || r.Schedule != "interleaved" || !r.Sequence || !r.Ring || !r.Zigzag || r.Microbatches() != 128 {
		t.Errorf("layout %+v", r.Mesh)
	}
	if r.KV != 8 || r.Head != 128 || r.Vocab != 128256 || r.Tied || r.Bias || !r.Gated || r.Base != 500000 || r.Context != 8192 {
		t.Errorf("model %+v", r.Model)
	}
	if r.Compute != "bf16" || r.Reduce != "f32" || r.Products != "" || r.Steps != 2000 || r.DecaySteps != 2000 || r.WeightDecay != 0.033 || r.MinLR != 3e-5 || r.Warmup != 500 {
		t.Errorf("training %+v %+v", r.Precision, r.Training)
	}
	if r.From["steps"] != "train.train_iters=2000" || r.From["tp"] != "model.tensor_model_parallel_size=4" {
		t.Errorf("comments %q", r.From)
	}
	if !slices.Equal(r.Kept, []string{"logger.log_interval=1"}) {
		t.Errorf("kept %q", r.Kept)
	}
	for _, w := range []string{"checkpoint (2)", "logger.log_interval=1", "dataset (1)"} {
		if !slices.ContainsFunc(notes, func(n Note) bool { return strings.Contains(n.String(), w) }) {
			t.Errorf("no note about %s in %v", w, notes)
		}
	}
	back, _, err := toBridge(r)
	if err != nil || !strings.Contains(back, "virtual_pipeline_model_parallel_size: 5") || !strings.Contains(back, "log_interval: 1") {
		t.Errorf("%v\n%s", err, back)
	}
}

// TestBridgeOverrides: what overrides say in the words of Megatron-Bridge.
func TestBridgeOverrides(t *testing.T) {
	for _, c := range []struct {
		args    string
		devices int
		want    func(r *Run) bool
	}{
		{"", 1, func(r *Run) bool {
			return r.Bias && r.Tied && r.Act == "gelu_tanh" && r.Positions == "learned" && r.Compute == "f32"
		}},
		{"model.transformer.num_layers=4", 1, func(r *Run) bool { return r.Layers == 4 }},
		{"mixed_precision=bf16_with_fp8_current_scaling_mixed", 1, func(r *Run) bool { return r.Compute == "bf16" && r.Products == "f8" && r.Reduce == "f32" }},
		{"model.bf16=true ddp.grad_reduce_in_fp32=false", 1, func(r *Run) bool { return r.Compute == "bf16" && r.Reduce == "bf16" }},
		{"mixed_precision=bf16_mixed ddp.grad_reduce_in_fp32=false", 1, func(r *Run) bool { return r.Reduce == "f32" }},
		{"mixed_precision.fp16=true model.bf16=false mixed_precision.loss_scale=1024", 1, func(r *Run) bool { return r.Compute == "f16" && r.Scale == 1024 }},
		{"ddp.use_megatron_fsdp=true ddp.data_parallel_sharding_strategy=optim_grads", 4, func(r *Run) bool { return r.Zero == 2 }},
		{"model.activation_func=squared_relu model.add_bias_linear=false", 1, func(r *Run) bool { return r.Act == "squared_relu" && !r.Bias }},
		{"model.pipeline_model_parallel_size=2 model.pipeline_model_parallel_layout=Et|t*3|t*2|ttL train.global_batch_size=4 model.virtual_pipeline_model_parallel_size=2", 2, func(r *Run) bool {
			return slices.Equal(r.Stages, []int{1, 3, 2, 2}) && r.Chunks == 2
		}},
		{"model.pipeline_model_parallel_size=2 model.pipeline_model_parallel_layout=[[embedding,decoder,decoder,decoder],[decoder,decoder,decoder,decoder,decoder,loss]]", 2, func(r *Run) bool { return slices.Equal(r.Stages, []int{3, 5}) }},
		{"model.context_parallel_size=2 model.cp_comm_type=p2p", 2, func(r *Run) bool { return r.Ring }},
		{"model.context_parallel_size=2 model.cp_comm_type=[all_gather]", 2, func(r *Run) bool { return !r.Ring }},
		{"tokenizer.vocab_size=1024 tokenizer.use_tokenizer_vocab_size=true", 1, func(r *Run) bool { return r.Vocab == 1024 }},
		{"model.num_moe_experts=8 model.moe_router_topk=2 model.moe_ffn_hidden_size=32 model.expert_model_parallel_size=4 model.add_bias_linear=false model.gated_linear_unit=true", 8, func(r *Run) bool { return r.Experts == 8 && r.EP == 4 && r.FFN == 32 }},
	} {
		r, _, err := fromBridge(Input{Devices: c.devices, Args: strings.Fields(bridgeSmall + c.args)})
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
		} else if !c.want(r) {
			t.Errorf("%s: %+v", c.args, r)
		}
	}
	hf := `{"model_type": "qwen3_moe", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 16, "intermediate_size": 128, "moe_intermediate_size": 32, "num_experts": 8, "num_experts_per_tok": 2,
		"vocab_size": 512, "max_position_embeddings": 256, "rms_norm_eps": 1e-6, "rope_theta": 1000000, "tie_word_embeddings": false}`
	r, _, err := fromBridge(Input{Devices: 4, HF: []byte(hf), Args: strings.Fields("model.seq_length=128 train.micro_batch_size=1 model.expert_model_parallel_size=2")})
	if err != nil {
		t.Fatal(err)
	}
	if r.Experts != 8 || r.Chosen != 2 || r.FFN != 32 || r.Head != 16 || !r.QKNorm || r.Seq != 128 || r.Context != 256 || r.Eps != 1e-6 || r.EP != 2 || r.Tied {
		t.Errorf("%+v", r)
	}
	for _, bad := range []string{`{"model_type": "bert"}`, `{"model_type": "llama", "rope_scaling": {"rope_type": "yarn"}}`, `[`} {
		if _, _, err := fromBridge(Input{Devices: 1, HF: []byte(bad)}); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}
