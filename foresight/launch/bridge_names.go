package launch

// bridgeNames are the fields of Megatron-Bridge's configuration that a flag of Megatron-LM says
// under another name. All other fields have the name of their flag, with underscores.
var bridgeNames = map[string]string{
	"num_moe_experts":                      "num-experts",
	"num_layers_in_first_pipeline_stage":   firstStage,
	"num_layers_in_last_pipeline_stage":    lastStage,
	"rope_scaling":                         "use-rope-scaling",
	"fp8":                                  "fp8-format",
	"fp4":                                  "fp4-format",
	"layernorm_epsilon":                    "norm-epsilon",
	"virtual_pipeline_model_parallel_size": stagesOfRank,
	"microbatch_group_size_per_vp_stage":   "microbatch-group-size-per-virtual-pipeline-stage",
}

// bridgeSections are the sections whose settings are read one by one.
var bridgeSections = map[string]bool{"model": true, "train": true, "optimizer": true, "scheduler": true, "ddp": true, "dist": true, "mixed_precision": true}

// bridgeIdle are sections without effect on the layout.
var bridgeIdle = map[string]string{
	"checkpoint": "checkpoints change no layout", "inprocess_restart": "checkpoints change no layout", "ft": "checkpoints change no layout",
	"dataset": "data and tokenizers change no layout", "tokenizer": "data and tokenizers change no layout", "validation": "data and tokenizers change no layout",
	"rng":    "data and tokenizers change no layout",
	"logger": "logging and profiling change no layout", "profiling": "logging and profiling change no layout", "straggler": "logging and profiling change no layout",
	"nvrx_straggler": "logging and profiling change no layout", "tensor_inspect": "logging and profiling change no layout", "rerun_state_machine": "logging and profiling change no layout",
	"comm_overlap": "ptc chooses kernels, fusions and what overlaps by itself", "env_vars": "ptc chooses kernels, fusions and what overlaps by itself",
	"optimizer_config_override_provider": "the optimizer treats all parameters in one way here, but for those without decay",
}

// bridgeOthers are fields that no flag of Megatron-LM has, whatever their section.
var bridgeOthers = table([]group{
	{refused, "the model is another than std.nn and std.decoder can have", `softmax_scale:float=null heterogeneous_block_specs:bool=false
		seq_len_interpolation_factor:float=null mtp_enabled:bool=false use_arbitrary_attention_mask:bool=false|null
		moe_router_topk_limited_devices:int=null`},
	{refused, "activations in the memory of the host are not chosen by layers; write `offload activations` in the layout", `cpu_offloading:bool=false`},
	{refused, "weights that are sharded over more ranks than their products have no counterpart; set ddp.use_megatron_fsdp", `gtp_weight_remat_size:int=1
		expert_gtp_weight_remat_size:int=1`},
	{refused, "training is as long as train.train_iters says", `num_epochs:float=null max_steps:int=null`},
	{idle, "ptc chooses kernels, fusions and what overlaps by itself", `activation_func_fp8_input_store:bool bias_activation_fusion:bool masked_softmax_fusion:bool
		persist_layer_norm:bool memory_efficient_layer_norm:bool bias_dropout_fusion:bool apply_rope_fusion:bool
		fused_single_qkv_rope:bool fp8_param:bool fp8_wgrad:bool fp8_dot_product_attention:bool
		fp8_multi_head_attention:bool tp_only_amax_red:bool use_kitchen:bool fp4_param:bool
		cuda_graph_use_single_mempool:bool cuda_graph_retain_backward_graph:bool
		clone_scatter_output_in_embedding:bool disable_parameter_transpose_cache:bool use_te_rng_tracker:bool
		gradient_accumulation_fusion:bool tp_comm_bulk_wgrad:bool tp_comm_bulk_dgrad:bool tp_comm_overlap_ag:bool
		tp_comm_overlap_rs:bool tp_comm_split_ag:bool tp_comm_atomic_ag:bool tp_comm_split_rs:bool
		tp_comm_atomic_rs:bool tp_comm_overlap_disable_qkv:bool tp_comm_overlap_disable_fc1:bool
		tp_comm_overlap_cfg:string moe_a2a_overlap:bool overlap_p2p_comm:bool batch_p2p_comm:bool batch_p2p_sync:bool
		deallocate_pipeline_outputs:bool overlap_p2p_comm_warmup_flush:bool cpu_offloading_activations:bool
		cpu_offloading_weights:bool cpu_offloading_double_buffering:bool barrier_with_L1_time:bool
		use_transformer_engine_full_layer_spec:bool dense_grouped_gemm:bool align_param_gather:bool
		bucket_size:int num_buckets:int pad_buckets_for_high_nccl_busbw:bool
		reduce_scatter_with_fp32_accumulation:bool average_in_collective:bool gradient_reduce_div_fusion:bool
		param_name_patterns_for_fp32_local_accumulation:many nccl_ub:bool
		fsdp_all_gather_in_start_param_sync:bool megatron_fsdp_use_decoupled_grad:bool
		megatron_fsdp_cuda_graph_mode:bool use_layer_wise_distributed_optimizer:bool pin_cpu_grads:bool
		pin_cpu_params:bool store_param_remainders:bool align_grad_reduce:bool use_gloo_process_groups:bool
		use_decentralized_pg:bool external_gpu_device_mapping:bool enable_megatron_core_experimental:bool
		skip_sync_grad_norm_across_mp:bool manual_gc_eval:int scatter_embedding_sequence_parallel:bool
		parallel_output:bool`},
	{idle, "without effect on a decoder that is trained", `layernorm_zero_centered_gamma:bool
		experimental_attention_variant_loss_scale_func:string dsa_indexer_rotate_activation:bool
		dsa_indexer_scoring_relu:bool init_method:string output_layer_init_method:string
		embedding_init_method:string moe_token_dropping:bool inference_sampling_seed:int
		use_inference_optimized_layers:bool use_mamba_mem_eff_path:bool hetereogenous_dist_checkpoint:bool
		quant_recipe:string perform_initialization:bool timers:string finalize_model_grads_func:string
		grad_scale_func:string moe_grad_scale_func:string mtp_grad_scale_func:string no_sync_func:string
		grad_sync_func:string param_sync_func:string num_microbatches_with_partial_activation_checkpoints:int
		variable_seq_lengths:bool original_max_position_embeddings:int beta_fast:float beta_slow:float
		logit_dtype:string yarn_rotary_scaling_factor:float yarn_mscale:float yarn_mscale_all_dim:float
		transformer_layer_spec:string hf_model_id:string hf_model_revision:string restore_modelopt_state:bool
		should_pad_vocab:bool decoupled_weight_decay:bool muon_split_qkv:bool soap_shampoo_beta:float
		soap_use_kl_shampoo:bool adaptive_muon_moment2_method:string adaptive_muon_beta2:float
		adaptive_muon_eps:float grad_norm_skip_threshold:float check_for_nan_in_grad:bool
		check_optimizer_step_success:bool eval_context_parallel_size:int flight_recorder_dump_on_timeout:bool
		flight_recorder_include_only_active:bool flight_recorder_extra_dump_on_exec:bool autocast_enabled:bool
		autocast_dtype:string enable_autocast:bool fp32:bool params_dtype:string pipeline_dtype:string`},
})
