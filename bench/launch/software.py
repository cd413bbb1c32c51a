"""Published configurations of Megatron-LM, torchtitan, DeepSpeed and MaxText, and what of them must be equal."""
import json
import math
import re
import shlex
import shutil

import yaml

from common import devices, flags_of, launched, ptc, run, sources, value, with_vocabulary, work


def megatron_cases():
    root = sources / "megatron"
    for script in sorted(root.glob("examples/*/train*.sh")):
        args = launched(script)
        if args:
            yield str(script.relative_to(root)), with_vocabulary(args)
    for kind in ("gpt", "moe", "mixtral"):
        for file in sorted(root.glob(f"tests/functional_tests/test_cases/{kind}/*/model_config.yaml")):
            flags = yaml.safe_load(file.read_text()).get("MODEL_ARGS") or {}
            args = []
            for name, v in flags.items():
                if v is False:
                    continue
                args.append(name)
                if v is not True:
                    args += [str(w) for w in v] if isinstance(v, list) else shlex.split(str(v))
            yield str(file.relative_to(root)), with_vocabulary(args)


class Megatron:
    name = "megatron"
    # Two ways to say the same: padded vocabularies, steps as samples or fractions, stages (whose blocks
    # parsers.py has Megatron-LM count), and the capacity that experts have without one.
    differ = {"vocab_size", "make_vocab_size_divisible_by", "lr_warmup_fraction", "lr_warmup_iters", "lr_decay_iters", "lr_decay_samples", "train_samples", "lr_warmup_samples",
              "num_layers_per_virtual_pipeline_stage", "num_virtual_stages_per_pipeline_rank", "moe_expert_capacity_factor", "add_position_embedding", "use_rotary_position_embeddings",
              "decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers", "pipeline_model_parallel_layout",
              "account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split"}

    def cases(self):
        for name, args in megatron_cases():
            yield name, {"devices": devices(args), "args": args}

    def translate(self, case, out):
        return run(ptc, "layout", "from", "megatron", "--devices", str(case["devices"]), "-o", str(out), "--", *case["args"])

    def back(self, case, text):
        return {"devices": case["devices"], "args": flags_of(text)}


class DeepSpeed:
    name = "deepspeed"
    # Two ways to say the same, as for Megatron-LM, and what the JSON says alone.
    differ = Megatron.differ | {"train_iters", "train_tokens", "num_key_value_heads", "ffn_hidden_size", "topk", "deepspeed_config", "deepspeed_config_dict", "deepspeed_mpi", "gradient_accumulation_steps",
                                "checkpoint_activations", "recompute_granularity", "recompute_method", "zero_stage", "deepspeed", "lr_decay_tokens", "no_pipeline_parallel", "tokenizer_type"}

    def cases(self):
        root = sources / "megatron-deepspeed"
        for script in sorted(root.glob("examples_deepspeed/**/*pretrain*.sh")) + sorted(root.glob("examples_deepspeed/azure/run-1*.sh")) + sorted(root.glob("examples/pretrain_gpt*.sh")) + \
                sorted(root.glob("examples_deepspeed/universal_checkpointing/*/run_*.sh")) + sorted(root.glob("examples_deepspeed/run_*.sh")):
            shutil.rmtree(work / "deepspeed", ignore_errors=True)
            top = script.relative_to(root).parts[0]
            shutil.copytree(root / top, work / "deepspeed" / top)
            folder = work / "deepspeed" / script.relative_to(root).parent
            (folder / "tmp").mkdir(exist_ok=True)
            args = launched(folder / script.name, folder)
            if "--num-layers" not in args or not all(re.fullmatch(r"\d+", args[i + 1]) for i, a in enumerate(args) if a in ("--num-layers", "--micro-batch-size", "--global-batch-size")):
                continue  # a script that another one calls with sizes
            config = None
            for i, a in enumerate(args):
                if a.startswith("--deepspeed_config"):
                    config = folder / (a.split("=", 1)[1] if "=" in a else args[i + 1])
            text = config.read_text() if config and config.is_file() else "{}"
            args = with_vocabulary(args)
            yield str(script.relative_to(root)), {"devices": self.devices(args, text), "args": args, "text": text}

    def devices(self, args, text):
        """As many as the batch of the JSON takes, where it says all of it."""
        try:
            tree = json.loads(text)
            replicas = tree["train_batch_size"] // (tree["train_micro_batch_size_per_gpu"] * tree["gradient_accumulation_steps"])
        except (ValueError, KeyError, TypeError):
            return devices(args)
        return replicas * value(args, "--tensor-model-parallel-size", 1) * value(args, "--pipeline-model-parallel-size", 1)

    def translate(self, case, out):
        file = work / "case.json"
        file.write_text(case["text"])
        return run(ptc, "layout", "from", "deepspeed", "--devices", str(case["devices"]), str(file), "-o", str(out), "--", *case["args"])

    def back(self, case, text):
        return {"devices": case["devices"], "text": text, "args": shlex.split(json.loads(text)["megatron_deepspeed_flags"])}

    def derive(self, case, fields):
        """Fields that follow from others; parsers.py has DeepSpeed read those of the JSON."""
        fields["full"] = bool(fields["checkpoint_activations"] or fields["recompute_granularity"] == "full")
        fields["heads"] = fields["num_key_value_heads"] or fields["num_attention_heads"]
        fields["wide"] = fields["ffn_hidden_size"] or 4 * fields["hidden_size"]


class Torchtitan:
    name = "torchtitan"
    differ = {"job.config_file"}

    def cases(self):
        root = sources / "torchtitan"
        for file in sorted(root.glob("torchtitan/models/*/train_configs/*.toml")):
            yield str(file.relative_to(root)), {"devices": 128, "text": file.read_text()}

    def translate(self, case, out):
        file = work / "case.toml"
        file.write_text(case["text"])
        return run(ptc, "layout", "from", "torchtitan", "--devices", str(case["devices"]), str(file), "-o", str(out))

    def back(self, case, text):
        return {"devices": case["devices"], "text": text}

    def derive(self, case, fields):
        """What defaults of -1 and of words stand for."""
        p = "parallelism."
        others = math.prod(fields[p + k] for k in ("data_parallel_replicate_degree", "tensor_parallel_degree", "pipeline_parallel_degree", "context_parallel_degree"))
        if fields[p + "data_parallel_shard_degree"] == -1:
            fields[p + "data_parallel_shard_degree"] = case["devices"] // others
        if fields["training.global_batch_size"] == -1:
            fields["training.global_batch_size"] = fields["training.local_batch_size"] * fields[p + "data_parallel_replicate_degree"] * fields[p + "data_parallel_shard_degree"]
        if fields[p + "fsdp_reshard_after_forward"] == "default":
            fields[p + "fsdp_reshard_after_forward"] = "never" if fields[p + "pipeline_parallel_degree"] > 1 else "always"
        fields["model.converters"] = [c.replace("quantize.linear.", "") for c in fields["model.converters"]]


class MaxText:
    name = "maxtext"
    differ = {"run_name", "model_name", "base_config"}
    sizes = ("emb_dim", "num_query_heads", "num_kv_heads", "mlp_dim", "num_decoder_layers", "head_dim", "vocab_size", "max_target_length", "mlp_activations", "logits_via_embedding",
             "normalization_layer_epsilon", "use_qk_norm", "attention_bias", "rope_max_timescale", "num_experts", "num_experts_per_tok", "global_batch_size_to_train_on", "micro_batch_size_to_train_on",
             "ici_parallelism", "dcn_parallelism", "remat_policy", "dtype", "weight_dtype", "learning_rate", "steps", "adam_b1", "adam_b2", "adam_weight_decay", "gradient_clipping_threshold", "num_pipeline_microbatches")

    def cases(self):
        root = sources / "maxtext/src/maxtext/configs"
        for file in sorted(root.glob("models/*.yml")):
            args = [f"model_name={file.stem}", "ici_fsdp_parallelism=8", "ici_tensor_parallelism=2", "per_device_batch_size=2"]
            yield f"models/{file.name}", {"devices": 16, "args": args, "files": [file]}
        for file in sorted(root.glob("gpu/models/*.yml")):
            tree = yaml.safe_load(file.read_text())
            model = root / f"models/{tree.get('model_name', '')}.yml"
            args = [f"{k}={json.dumps(v)}" if not isinstance(v, str) else f"{k}={v}" for k, v in tree.items() if k != "base_config"]
            yield f"gpu/models/{file.name}", {"devices": 16, "args": args, "files": [model] if model.exists() else []}

    def translate(self, case, out):
        base = sources / "maxtext/src/maxtext/configs/base.yml"
        return run(ptc, "layout", "from", "maxtext", "--devices", str(case["devices"]), str(base), *map(str, case["files"]), "-o", str(out), "--", *case["args"])

    def back(self, case, text):
        return {"devices": case["devices"], "text": text}

    def derive(self, case, fields):
        """Degrees of -1 are what the others leave, of one slice."""
        for key, whole in (("ici_parallelism", case["devices"]), ("dcn_parallelism", 1)):
            rest = whole // math.prod(n for n in fields[key] if n != -1)
            fields[key] = [rest if n == -1 else n for n in fields[key]]
