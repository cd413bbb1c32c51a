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
        return vars(validate_args(args, {"tokenizer_type": "GPT2BPETokenizer"}))
    return read


def torchtitan(sources):
    sys.path.insert(0, str(sources / "torchtitan"))
    from torchtitan.config.manager import ConfigManager

    def read(case):
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
    """Megatron-DeepSpeed's parser with its own checks. What it imports besides the flags is left out, and those of
    DeepSpeed itself are declared here, as building DeepSpeed takes a compiler for GPUs."""
    root = sources / "megatron-deepspeed"

    def module(name, **names):
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(names)

    def declare(parser):
        for name in ("--deepspeed", "--deepscale", "--deepspeed_mpi"):
            parser.add_argument(name, action="store_true")
        for name in ("--deepspeed_config", "--deepscale_config"):
            parser.add_argument(name)
        return parser

    module("deepspeed", __version__="0.19.0", add_config_arguments=declare)
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
        return vars(parse_args())
    return read


if __name__ == "__main__":
    out, sys.stdout = sys.stdout, sys.stderr
    read = globals()[sys.argv[1]](pathlib.Path(sys.argv[2]))
    results = []
    for case in json.load(sys.stdin):
        try:
            results.append({"fields": plain(read(case))})
        except (Exception, SystemExit) as e:  # whatever a parser raises is its verdict
            results.append({"error": f"{type(e).__name__}: {e}"})
    json.dump(results, out)
