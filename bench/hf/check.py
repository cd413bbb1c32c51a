"""Imports, exports and reads back every model in a folder, with ptc's own commands."""
import json
import pathlib
import subprocess
import sys

import gguf
import numpy
import torch
import transformers as T


def ptc(binary, *args):
    done = subprocess.run([binary, *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"ptc {' '.join(map(str, args))}: {done.stderr}")


def pairs(w, heads):
    """Rows of a head in llama.cpp's order: that of halves as pairs."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def same_gguf(path, state, config):
    tensors = {t.name: t.data for t in gguf.GGUFReader(path).tensors}
    names = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}
    if not config.tie_word_embeddings:
        names["output.weight"] = "lm_head.weight"
    parts = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
             "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
             "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
    for i in range(config.num_hidden_layers):
        names |= {f"blk.{i}.{a}.weight": f"model.layers.{i}.{b}.weight" for a, b in parts.items()}
    assert tensors.keys() == names.keys(), tensors.keys() ^ names.keys()
    for ours, theirs in names.items():
        want = state[theirs].numpy()
        if "attn_q" in ours or "attn_k" in ours:
            want = pairs(want, config.num_attention_heads if "attn_q" in ours else config.num_key_value_heads)
        assert numpy.array_equal(tensors[ours].reshape(want.shape), want), ours


def check(binary, folder, work):
    name = folder.name
    model, plan, out = work / f"{name}-model", work / f"{name}.bin", work / f"{name}-out"
    ptc(binary, "import", folder, "-o", model)
    ptc(binary, "compile", model / "model.ptl", "--target", "ref", "--set", "seq=16", "-o", plan)
    ptc(binary, "export", model / "init.safetensors", "--plan", plan, "--max-shard-size", "30KB", "-o", out)
    kind = json.loads((folder / "config.json").read_text())["architectures"][0]
    a, b = (getattr(T, kind).from_pretrained(p) for p in (folder, out))
    x, y = a.state_dict(), b.state_dict()
    assert x.keys() == y.keys() and all(torch.equal(x[k], y[k]) for k in x), name
    tokens = torch.arange(16)[None] % a.config.vocab_size
    with torch.no_grad():
        assert torch.equal(a(tokens).logits, b(tokens).logits), name
    if name == "llama":
        path = work / "llama.gguf"
        ptc(binary, "export", model / "init.safetensors", "--plan", plan, "--format", "gguf", "-o", path)
        same_gguf(path, x, a.config)
    print(f"{name}: {len(x)} tensors alike to the bit, and the logits")


def main():
    binary, cases, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    for folder in sorted(cases.iterdir()):
        check(binary, folder, work)


if __name__ == "__main__":
    main()
