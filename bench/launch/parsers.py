"""Reads configurations by the software's own parser: parsers.py SOFTWARE SOURCES <cases.json >results.json.

A case is {"devices": N, "args": [...]} or {"devices": N, "text": "..."}; a result is {"fields": {...}} or {"error": "..."}.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import sys
import tempfile
import types
import typing

import typing_extensions

# Megatron-LM needs a name of Python 3.12.
if not hasattr(typing, "override"):
    typing.override = typing_extensions.override


def plain(value):
    """A value as JSON has it."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def megatron(sources):
    """Megatron-LM's parser with its own checks, which ask a GPU for its generation."""
    sys.path.insert(0, str(sources / "megatron"))
    import torch
    torch.cuda.get_device_properties = lambda *_: types.SimpleNamespace(major=10)
    torch.cuda.get_device_capability = lambda *_: (10, 0)
    from megatron.training.arguments import add_megatron_arguments, validate_args

    def read(case):
        os.environ.update(WORLD_SIZE=str(case["devices"]), RANK="0")
        parser = add_megatron_arguments(argparse.ArgumentParser(allow_abbrev=False))
        args = parser.parse_args(case["args"])
        args.rank, args.world_size = 0, case["devices"]
        if isinstance(getattr(args, "spec", None), str):
            args.spec = [args.spec]
        fields = vars(validate_args(args, {"tokenizer_type": "GPT2BPETokenizer"}))
        names = {"num_layers_in_first_pipeline_stage": "decoder_first_pipeline_num_layers", "num_layers_in_last_pipeline_stage": "decoder_last_pipeline_num_layers"}
        fields["stages"] = stages(lambda name: fields.get(names.get(name, name)))
        return fields
    return read


def stages(get):
    """The blocks of each stage of a pipeline, as Megatron-LM counts them for each rank."""
    from megatron.core.transformer.pipeline_parallel_layer_layout import LayerType, PipelineParallelLayerLayout
    from megatron.core.transformer.transformer_block import get_num_layers_to_build
    devices, layout = get("pipeline_model_parallel_size") or 1, get("pipeline_model_parallel_layout")
    if layout:
        rows = PipelineParallelLayerLayout(layout, devices).layout
        return [rows[d][c].count(LayerType.decoder) for c in range(len(rows[0])) for d in range(devices)]
    config = types.SimpleNamespace(pipeline_model_parallel_layout=None, **{k: get(k) for k in (
        "num_layers", "pipeline_model_parallel_size", "virtual_pipeline_model_parallel_size", "num_layers_in_first_pipeline_stage",
        "num_layers_in_last_pipeline_stage", "account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split")})
    config.pipeline_model_parallel_size = devices
    chunks = config.virtual_pipeline_model_parallel_size or 1
    return [get_num_layers_to_build(config, vp_stage=c, pp_rank=d) for c in range(chunks) for d in range(devices)]


def megatron_bridge(sources):
    """OmegaConf, by which Megatron-Bridge reads YAML; what comes with flags of Megatron-LM must say the same by its parser."""
    from omegaconf import OmegaConf

    from bridge_fields import of_flags, of_recipe
    flags = megatron(sources)

    def read(case):
        fields = of_recipe(OmegaConf.to_container(OmegaConf.create(case["text"])), case.get("hf") or {}, case["devices"], stages)
        if "flags" in case:
            others = of_flags(flags({"devices": case["devices"], "args": case["flags"]}), case["devices"])
            wrong = [f"{k} {v!r}, by flags {others[k]!r}" for k, v in fields.items() if v != others[k]]
            if wrong:
                raise ValueError("; ".join(wrong))
        return fields
    return read


def torchtitan(sources):
    sys.path.insert(0, str(sources / "torchtitan"))
    from torchtitan.config.manager import ConfigManager

    def read(case):
        if "fields" in case:  # what a Python configuration says, in the place of the defaults
            config = dataclasses.asdict(ConfigManager().parse_args([]))
            known = {f"{s}.{k}": v for s, values in config.items() for k, v in values.items()}
            return known | {k: v for k, v in case["fields"].items() if k in known}
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as f:
            f.write(case["text"])
            f.flush()
            config = dataclasses.asdict(ConfigManager().parse_args(["--job.config_file", f.name] + case.get("args", [])))
        return {f"{s}.{k}": v for s, values in config.items() for k, v in values.items()}
    return read


def maxtext(sources):
    os.environ["JAX_PLATFORMS"] = "cpu"
    sys.path.insert(0, str(sources / "maxtext/src"))
    from maxtext.configs import pyconfig
    base = str(sources / "maxtext/src/maxtext/configs/base.yml")

    def read(case):
        more = ["run_name=r", "internal_compile=true", f"internal_compile_num_devices={case['devices']}", "enable_checkpointing=false", "skip_jax_distributed_system=true"]
        if "text" not in case:
            config = pyconfig.initialize(["x", base] + case["args"] + more)
        else:
            with tempfile.TemporaryDirectory() as d:
                path = pathlib.Path(d) / "run.yml"
                path.write_text(f"base_config: {base}\n" + case["text"])
                config = pyconfig.initialize(["x", str(path)] + more)
        return dict(config.get_keys())
    return read


def deepspeed(sources):
    """Megatron-DeepSpeed's parser with its own checks, and DeepSpeed's of the JSON. What the former imports besides the
    flags is left out."""
    root = sources / "megatron-deepspeed"
    os.environ["DS_ACCELERATOR"] = "cpu"
    sys.path.insert(0, str(sources / "deepspeed"))
    import deepspeed  # whose options the parser adds
    from deepspeed.runtime.config import DeepSpeedConfig
    deepspeed.comm.get_rank = lambda: 0

    def module(name, **names):
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(names)

    module("megatron", __path__=[str(root / "megatron")])
    module("megatron.global_vars", set_retro_args=None, get_retro_args=None)
    module("megatron.core", __path__=[])
    module("megatron.core.transformer", TransformerConfig=object)
    for name in ("tools", "tools.retro", "tools.retro.utils"):
        module(name, get_args_path=None)
    from megatron.arguments import parse_args

    def read(case):
        os.environ.update(WORLD_SIZE=str(case["devices"]), RANK="0")
        sys.argv = ["x"] + case["args"]
        fields = vars(parse_args())
        tree = json.loads(case["text"])
        tree.pop("megatron_deepspeed_flags", None)
        flags = {"train_batch_size": fields["global_batch_size"], "train_micro_batch_size_per_gpu": fields["micro_batch_size"], "gradient_clipping": fields["clip_grad"]}
        if "--zero-stage" in case["args"]:
            tree.setdefault("zero_optimization", {}).setdefault("stage", int(fields["zero_stage"]))
        model = fields["tensor_model_parallel_size"] * fields["pipeline_model_parallel_size"]
        ranks = types.SimpleNamespace(get_world_size=lambda: case["devices"], get_model_parallel_world_size=lambda: model, get_data_parallel_world_size=lambda: case["devices"] // model)
        config = DeepSpeedConfig(flags | tree, mpu=ranks)
        offload = config.zero_config.offload_optimizer
        for kind, section in (("bf16", config.bfloat16_config), ("fp16", config.float16_config)):
            fields[f"JSON: {kind}"] = section.enabled if kind in tree else fields[kind]
        fields["JSON: batch"] = [config.train_batch_size, config.train_micro_batch_size_per_gpu, config.gradient_accumulation_steps]
        fields["JSON: stage"], fields["JSON: offload"], fields["JSON: clip"] = config.zero_optimization_stage, offload and str(offload.device), config.gradient_clipping
        return fields
    return read


if __name__ == "__main__":
    out, sys.stdout = sys.stdout, sys.stderr
    read = globals()[sys.argv[1].replace("-", "_")](pathlib.Path(sys.argv[2]))
    results = []
    for case in json.load(sys.stdin):
        try:
            results.append({"fields": plain(read(case))})
        except (Exception, SystemExit) as e:  # whatever a parser raises is its verdict
            results.append({"error": f"{type(e).__name__}: {e}"})
    json.dump(results, out)
