"""Low-rank adapters in both directions, with PEFT and ptc's own commands, for every model in a folder."""
import json
import pathlib
import sys

import peft
import torch
import transformers as T

from check import ptc

TUNE = """import std.models.{family}
import std.nn
import std.optim
import std.data
import "{model}/model.ptl"

train {model_name} {{
  loss      = nn.cross_entropy({model_name}(tokens), targets, over = vocab)
  optimizer = optim.AdamW(lr = 3e-2)
  data      = data.synthetic_tokens(window = seq)
  steps     = 3
  lora {{ rank = {rank}  alpha = {alpha}  on = {on} }}
}}
"""
NAMES = {"llama": "Llama", "gpt2": "GPT2", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3", "gemma2": "Gemma2", "mixtral": "Mixtral"}
ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
# What PEFT adapts, and the lora block with the same factors: in GPT-2 queries, keys and values share one.
TARGETS = {"gpt2": (["c_attn", "c_proj", "c_fc"], "blocks.**"), "gemma2": (ATTENTION + ["gate_proj", "up_proj", "down_proj"], "pairs.**"),
           "mixtral": (ATTENTION, "blocks.*.attn.**")}
DENSE = (ATTENTION + ["gate_proj", "up_proj", "down_proj"], "blocks.**")


def logits(model, seq=11):
    model = model.eval().double()
    tokens = (torch.arange(2 * seq).reshape(2, seq) * 7) % model.config.vocab_size
    with torch.no_grad():
        return model(tokens).logits


def alike(a, b, what, most=1e-5):
    """Sums of weights are rounded once to 32 bits, and adapters that stay apart are not."""
    worst = (a - b).abs().max().item() / b.abs().max().item()
    assert worst < most, f"{what}: logits differ by {worst:g} of the largest"
    return worst


def base(kind, folder):
    """The model of a folder, with experts computed one by one, as float64 needs it."""
    apart = dict(experts_implementation="eager") if kind.startswith("Mixtral") else {}
    return getattr(T, kind).from_pretrained(folder, attn_implementation="eager", dtype=torch.float32, **apart)


def plan(binary, work, name, family, model, rank, alpha, on):
    source, out = work / f"{name}.ptl", work / f"{name}.bin"
    source.write_text(TUNE.format(family=family, model=model.name, model_name=NAMES[family], rank=rank, alpha=alpha, on=on))
    ptc(binary, "compile", source, "--target", "ref", "--set", "seq=8", "--set", "batch=2", "-o", out)
    return out


def ours_to_peft(binary, work, name, family, kind, folder, model, on):
    """Adapters that ptc trains, read by PEFT: the logits are those of the weights with the adapters added."""
    tune = plan(binary, work, f"{name}-tune", family, model, 3, 5, on)
    tuned, adapter, whole = (work / f"{name}-{x}" for x in ("tuned.safetensors", "adapter", "whole"))
    ptc(binary, "run", tune, "--init", model / "init.safetensors", "--save", tuned)
    ptc(binary, "export", tuned, "--plan", tune, "--format", "peft", "--base", folder, "-o", adapter)
    ptc(binary, "export", tuned, "--plan", tune, "-o", whole)
    plain, x = logits(base(kind, folder)), logits(base(kind, whole))
    assert (plain - x).abs().max() > 1e-3, f"{name}: the adapters change nothing"
    read = peft.PeftModel.from_pretrained(base(kind, folder), adapter)
    keys = {k for k in read.state_dict() if ".lora_" in k and "embedding" not in k}
    zero = [k for k in keys if "lora_B" in k and not read.state_dict()[k].any()]
    assert keys and not zero, f"{name}: not read by PEFT: {zero}"
    worst = alike(logits(read), x, f"{name}: an adapter of ptc")
    if family != "mixtral":  # PEFT trains experts in a form of its own
        alike(logits(peft.AutoPeftModelForCausalLM.from_pretrained(adapter)), x, f"{name}: of the base that the adapter names")
    size = sum(p.stat().st_size for p in adapter.iterdir())
    return worst, len(keys) // 2, size


def theirs(kind, folder, out, config):
    """An adapter that PEFT writes, with random factors; its logits, and the weights with it added, of 64 bits."""
    torch.manual_seed(7)
    model = peft.get_peft_model(base(kind, folder), config)
    with torch.no_grad():
        for key, p in model.named_parameters():
            if ".lora_" in key or "modules_to_save" in key or p.requires_grad and key.endswith(".bias"):
                p.copy_(p + 0.1 * torch.randn_like(p))
    model.save_pretrained(out)
    return logits(model), model.merge_and_unload().state_dict()


def peft_to_ours(binary, work, name, family, kind, folder, model, on, config, keep):
    adapter, added, out = (work / f"{name}-{x}" for x in ("theirs", "added", "added-out"))
    want, weights = theirs(kind, folder, adapter, config)
    ptc(binary, "import", folder, "--adapter", adapter, "-o", added)
    plain = work / f"{name}-plain.bin"
    ptc(binary, "compile", added / "model.ptl", "--target", "ref", "--set", "seq=8", "-o", plain)
    ptc(binary, "export", added / "init.safetensors", "--plan", plain, "-o", out)
    read = base(kind, out)
    for key, w in read.state_dict().items():
        assert torch.allclose(w.double(), weights[key], rtol=1e-6, atol=1e-7), f"{name}: {key}"
    worst = alike(logits(read), want, f"{name}: an adapter of PEFT, added")
    if not keep:
        return worst
    tune = plan(binary, work, f"{name}-keep", family, model, config.r, 2, on)
    kept, again = work / f"{name}-kept", work / f"{name}-again"
    ptc(binary, "import", folder, "--adapter", adapter, "--plan", tune, "-o", kept)
    ptc(binary, "export", kept / "init.safetensors", "--plan", tune, "--format", "peft", "-o", again)
    read = peft.PeftModel.from_pretrained(base(kind, folder), again)
    worst = max(worst, alike(logits(read), want, f"{name}: an adapter of PEFT, kept apart"))
    ptc(binary, "run", tune, "--init", kept / "init.safetensors", "--steps", "1")
    return worst


def check(binary, folder, work):
    name = folder.name
    config = json.loads((folder / "config.json").read_text())
    family, kind = config["model_type"], config["architectures"][0]
    model = work / f"{name}-base"
    ptc(binary, "import", folder, "-o", model)
    targets, on = TARGETS.get(family, DENSE)
    every = {"gemma2": "pairs.**"}.get(family, "blocks.**")
    if not config.get("tie_word_embeddings", True):
        every += ", output"
    worst, modules, size = ours_to_peft(binary, work, name, family, kind, folder, model, every)
    some = dict(task_type="CAUSAL_LM", fan_in_fan_out=family == "gpt2")
    cases = {"plain": (dict(r=3, lora_alpha=5, target_modules=targets), True),
             "root": (dict(r=4, lora_alpha=6, target_modules=targets[:2], use_rslora=True, rank_pattern={targets[1]: 2}, alpha_pattern={r"1\..*" + targets[0]: 3}), False)}
    if family == "llama":
        cases["bias"] = (dict(r=2, lora_alpha=3, target_modules=targets, bias="all", modules_to_save=["norm"]), False)
    if family == "llama" and not config["tie_word_embeddings"]:
        cases["embedding"] = (dict(r=2, target_modules=["embed_tokens", "lm_head"]), False)
    if family == "mixtral":
        cases["experts"] = (dict(r=2, target_modules=["q_proj", "w1", "w2", "w3", "gate"]), False)
        cases["down"] = (dict(r=2, target_parameters=["mlp.experts.down_proj"], target_modules=[]), False)
        cases["up"] = (dict(r=2, target_parameters=["mlp.experts.gate_up_proj"], target_modules=[]), False)
    for case, (options, keep) in cases.items():
        worst = max(worst, peft_to_ours(binary, work, f"{name}-{case}", family, kind, folder, model, on, peft.LoraConfig(**options, **some), keep))
    print(f"{name}: adapters of {modules} modules, {size} bytes, there and back: logits to {worst:.0e}")


def main():
    binary, cases, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    only = sys.argv[4:]
    for folder in sorted(cases.iterdir()):
        if not only or folder.name in only:
            check(binary, folder, work)


if __name__ == "__main__":
    main()
