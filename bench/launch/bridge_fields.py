"""What a recipe of Megatron-Bridge and flags of Megatron-LM say in common, in the same terms."""


def padded(tokens, tp):
    """A vocabulary as both pad it by default."""
    multiple = 128 * tp
    return -(-tokens // multiple) * multiple


def of_recipe(tree, hf, devices, stages):
    """The fields of a configuration on top of a model of Hugging Face. One replica shards nothing."""
    def get(section, name, otherwise=None):
        v = (tree.get(section) or {}).get(name)
        return otherwise if v is None else v

    def model(name, otherwise=None):
        return get("model", name, otherwise)

    def function(v):
        return v["_target_"].split(".")[-1] if isinstance(v, dict) else v

    llama = bool(hf)
    heads = model("num_attention_heads", hf.get("num_attention_heads"))
    hidden = model("hidden_size", hf.get("hidden_size"))
    tp, pp = model("tensor_model_parallel_size", 1), model("pipeline_model_parallel_size", 1)
    experts = model("num_moe_experts", hf.get("num_experts"))
    tokenizer, tokens = get("tokenizer", "vocab_size"), model("vocab_size", hf.get("vocab_size"))
    if tokens is None or tokenizer and get("tokenizer", "use_tokenizer_vocab_size", False):
        tokens = tokenizer
    sizes = {"num_layers": model("num_layers", hf.get("num_hidden_layers")), "pipeline_model_parallel_layout": model("pipeline_model_parallel_layout"), "pipeline_model_parallel_size": pp}
    precision = tree.get("mixed_precision") or {}
    if isinstance(precision, str):  # a recipe's name
        precision = {"bf16": precision.startswith("bf16"), "fp8": "fp8" in precision}
    sharded = get("ddp", "use_distributed_optimizer", False) or get("optimizer", "use_distributed_optimizer", False)
    iters = get("train", "train_iters")
    return {
        "layers": sizes["num_layers"], "hidden": hidden, "heads": heads, "groups": model("num_query_groups", hf.get("num_key_value_heads", heads)), "head": model("kv_channels", hf.get("head_dim", hidden // heads)),
        "ffn": None if experts else model("ffn_hidden_size", hf.get("intermediate_size")), "tokens": padded(tokens, tp), "length": model("seq_length", get("dataset", "seq_length")),
        "norm": model("normalization", "RMSNorm" if llama else "LayerNorm"), "gated": model("gated_linear_unit", llama), "silu": function(model("activation_func", "silu" if llama else "gelu")) == "silu",
        "bias": model("add_bias_linear", not llama), "qkv bias": model("add_bias_linear", not llama) or model("add_qkv_bias", hf.get("model_type") == "qwen2"), "qk norm": model("qk_layernorm", str(hf.get("model_type")).startswith("qwen3")),
        "tied": model("share_embeddings_and_output_weights", hf.get("tie_word_embeddings", True)), "positions": model("position_embedding_type", "rope" if llama else "learned_absolute"),
        "base": model("rotary_base", hf.get("rope_theta", 10000)), "experts": experts, "chosen": model("moe_router_topk", hf.get("num_experts_per_tok")) if experts else None,
        "expert ffn": model("moe_ffn_hidden_size", hf.get("moe_intermediate_size")) if experts else None,
        "tp": tp, "pp": pp, "cp": model("context_parallel_size", 1), "ep": model("expert_model_parallel_size", 1), "sp": bool(model("sequence_parallel", False)) and tp > 1,
        "stages": stages(lambda name: sizes.get(name) or model(name)),
        "micro": get("train", "micro_batch_size"), "batch": get("train", "global_batch_size"), "steps": iters,
        "lr": get("optimizer", "lr"), "min lr": get("optimizer", "min_lr", 0), "betas": [get("optimizer", "adam_beta1", 0.9), get("optimizer", "adam_beta2", 0.999)], "eps": get("optimizer", "adam_eps", 1e-8),
        "decay": get("scheduler", "start_weight_decay", get("optimizer", "weight_decay")), "clip": get("optimizer", "clip_grad", 1.0), "style": get("scheduler", "lr_decay_style", "linear"),
        "warmup": get("scheduler", "lr_warmup_iters", 0), "decay steps": get("scheduler", "lr_decay_iters", iters),
        "sharded": bool(sharded) and devices > tp * pp, "fsdp": bool(get("ddp", "use_megatron_fsdp", False)), "instances": get("ddp", "num_distributed_optimizer_instances", 1),
        "full": model("recompute_granularity") == "full", "bf16": bool(precision.get("bf16")), "fp8": bool(precision.get("fp8")),
        "f32 sums": precision.get("grad_reduce_in_fp32", True),
    }


def of_flags(args, devices):
    """The same of the fields that Megatron-LM's parser makes of flags."""
    experts = args["num_experts"]
    return {
        "layers": args["num_layers"], "hidden": args["hidden_size"], "heads": args["num_attention_heads"], "groups": args["num_query_groups"] if args["group_query_attention"] else args["num_attention_heads"],
        "head": args["kv_channels"], "ffn": None if experts else args["ffn_hidden_size"], "tokens": padded(args["vocab_size"], args["tensor_model_parallel_size"]), "length": args["seq_length"],
        "norm": args["normalization"], "gated": args["swiglu"], "silu": args["swiglu"], "bias": args["add_bias_linear"], "qkv bias": args["add_bias_linear"] or args["add_qkv_bias"], "qk norm": args["qk_layernorm"],
        "tied": not args["untie_embeddings_and_output_weights"], "positions": args["position_embedding_type"], "base": args["rotary_base"], "experts": experts,
        "chosen": args["moe_router_topk"] if experts else None, "expert ffn": args["moe_ffn_hidden_size"] if experts else None,
        "tp": args["tensor_model_parallel_size"], "pp": args["pipeline_model_parallel_size"], "cp": args["context_parallel_size"], "ep": args["expert_model_parallel_size"], "sp": args["sequence_parallel"],
        "stages": args["stages"], "micro": args["micro_batch_size"], "batch": args["global_batch_size"], "steps": args["train_iters"],
        "lr": args["lr"], "min lr": args["min_lr"], "betas": [args["adam_beta1"], args["adam_beta2"]], "eps": args["adam_eps"], "decay": args["weight_decay"], "clip": args["clip_grad"],
        "style": args["lr_decay_style"], "warmup": args["lr_warmup_iters"], "decay steps": args["lr_decay_iters"] or args["train_iters"],
        "sharded": args["use_distributed_optimizer"] and devices > args["tensor_model_parallel_size"] * args["pipeline_model_parallel_size"], "fsdp": args["use_megatron_fsdp"], "instances": args["num_distributed_optimizer_instances"],
        "full": args["recompute_granularity"] == "full", "bf16": args["bf16"], "fp8": bool(args["fp8"]), "f32 sums": not args["grad_reduce_in_bf16"],
    }
