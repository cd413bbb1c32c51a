"""Published configurations that are Python: recipes of Megatron-Bridge and functions of torchtitan."""
import json
import re

import yaml

import recipes
from common import flags_of, ptc, run, sources, work
from software import Torchtitan


class TorchtitanPython(Torchtitan):
    """Functions of config_registry.py, which ptc knows by name, against the TOML that it writes."""
    sections = ("training", "parallelism", "lr_scheduler")

    def cases(self):
        for kind, name, config in recipes.torchtitan(sources):
            if isinstance(config, Exception):
                print(f"torchtitan: {name} needs more than stand-ins: {config}")
                continue
            yield f"--module {kind} --config {name}", {"devices": 128, "preset": ["--module", kind, "--config", name], "fields": self.fields(kind, config)}

    def fields(self, kind, config):
        """The fields that TOML files have. Fused products are a choice of kernels."""
        out = {"model.name": kind, "model.flavor": config.model_spec._args[0].removesuffix("_non_fused_qkv"), "model.converters": [c._name.split(".")[-2] for c in config.model_spec.converters or []]}
        out["model.converters"] = ["float8" if c == "Float8LinearConverter" else c for c in out["model.converters"]]
        out["optimizer.name"] = "AdamW" if config.optimizer._name.endswith("default_adamw") else str(config.optimizer._name)
        out["optimizer.lr"] = config.optimizer.lr
        out["activation_checkpoint.mode"] = config.activation_checkpoint._name.split(".")[-2].removesuffix("AC").lower()
        for section in self.sections:
            for k, v in (recipes.value(getattr(config, section)) or {}).items():
                out[f"{section}.{k}"] = v
        tokens, length = out["training.num_tokens_per_microbatch_per_dp_rank"], out["training.max_context_length"]
        out["training.local_batch_size"], out["training.seq_len"] = tokens // length, length
        return out

    def translate(self, case, out):
        return run(ptc, "layout", "from", "torchtitan", "--devices", str(case["devices"]), "-o", str(out), "--", *case["preset"])


class Bridge:
    """Recipes as Megatron-Bridge resolves them, against the overrides and the flags of Megatron-LM that ptc writes."""
    name = "megatron-bridge"
    differ = set()

    def cases(self):
        for name, model, tree in recipes.bridge(sources):
            if isinstance(tree, Exception):
                print(f"megatron-bridge: {name} needs more than stand-ins: {tree}")
                continue
            hf = self.config_json(model) if model else {}
            n = re.search(r"_(\d+)gpu_", name)
            if hf is None or n is None:
                print(f"megatron-bridge: {name}: no sizes of {model}, or no number of GPUs")
                continue
            yield name, {"devices": int(n[1]), "text": yaml.safe_dump(tree), "hf": hf}

    def config_json(self, model):
        """A config.json with the sizes that MaxText has of a model, which Hugging Face would have."""
        name = model.split("/")[1].lower().removeprefix("meta-").removesuffix("-hf").replace("llama-", "llama")
        file = sources / "maxtext/src/maxtext/configs/models" / f"{name}.yml"
        if not file.exists():
            return None
        t = yaml.safe_load(file.read_text())
        kind = {"llama2": "llama"}.get(t["decoder_block"], t["decoder_block"])
        out = {"model_type": kind, "num_hidden_layers": t["base_num_decoder_layers"], "hidden_size": t["base_emb_dim"], "num_attention_heads": t["base_num_query_heads"], "num_key_value_heads": t["base_num_kv_heads"],
               "intermediate_size": t["base_mlp_dim"], "head_dim": t["head_dim"], "vocab_size": t["vocab_size"], "rms_norm_eps": t["normalization_layer_epsilon"], "rope_theta": int(t.get("rope_max_timescale", 10000)),
               "tie_word_embeddings": bool(t.get("logits_via_embedding")), "max_position_embeddings": 8192}
        if t.get("num_experts"):
            out |= {"num_experts": t["num_experts"], "num_experts_per_tok": t["num_experts_per_tok"], "moe_intermediate_size": t["base_moe_mlp_dim"]}
        return out

    def translate(self, case, out):
        file, hf = work / "run_config.yaml", work / "config.json"
        file.write_text(case["text"])
        hf.write_text(json.dumps(case["hf"]))
        return run(ptc, "layout", "from", "megatron-bridge", "--devices", str(case["devices"]), str(file), *(["--hf", str(hf)] if case["hf"] else []), "-o", str(out))

    def back(self, case, text):
        flags = run(ptc, "layout", "to", "megatron", str(work / "run.ptl"))
        if flags.returncode != 0:
            raise SystemExit(f"megatron-bridge, to megatron: {flags.stderr}")
        return {"devices": case["devices"], "text": text, "flags": flags_of(flags.stdout)}
