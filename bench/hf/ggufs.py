"""Reads GGUF files of ptc with llama.cpp's own package: keys, tensors by its table of names, and tokenizers."""
import json
import pathlib
import shutil
import sys

import gguf
import numpy
import sentencepiece
import torch
import transformers as T

from check import ptc

ARCH = {"llama": "llama", "mistral": "llama", "mixtral": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "gemma2": "gemma2", "gpt2": "gpt2"}
TOKENIZER = {"llama": "llama3.json", "llama_stretched": "llama3.json", "llama_tied_biased": "bpe.model", "gpt2": "gpt2.json", "qwen2": "added.json",
             "qwen3": "added.json", "mistral": "bpe.model", "mixtral": "bpe.model", "gemma2": "bpe.model"}
PRE = {"llama3.json": "llama-bpe", "gpt2.json": "gpt-2", "added.json": "qwen2", "bpe.model": "default"}
SAYS = {"bos_token": "<s>", "eos_token": {"content": "<|end|>"}, "add_bos_token": True, "chat_template": "{{ messages[0]['content'] }}"}


def value(reader, key):
    return reader.fields[key].contents()


def pairs(w, heads):
    """Rows of a head in llama.cpp's order: that of halves as pairs."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def expected(family, model):
    """The tensors of a model by llama.cpp's names, in its order."""
    c = model.config
    table = gguf.get_tensor_name_map({v: k for k, v in gguf.MODEL_ARCH_NAMES.items()}[ARCH[family]], c.num_hidden_layers)
    out = {}
    for key, w in model.state_dict().items():
        if key == "lm_head.weight" and c.tie_word_embeddings:
            continue
        w = w.numpy()
        if family == "mixtral" and ".experts." in key:
            layer = key.split(".")[2]
            if key.endswith("gate_up_proj"):
                out[f"blk.{layer}.ffn_gate_exps.weight"], out[f"blk.{layer}.ffn_up_exps.weight"] = numpy.split(w, 2, axis=1)
            else:
                out[f"blk.{layer}.ffn_down_exps.weight"] = w
            continue
        name = table.get_name(key.replace("mlp.gate.", "block_sparse_moe.gate.") if family == "mixtral" else key, try_suffixes=(".weight", ".bias"))
        assert name, key
        if ARCH[family] == "llama" and "attn_q" in name:
            w = pairs(w, c.num_attention_heads)
        if ARCH[family] == "llama" and "attn_k" in name:
            w = pairs(w, c.num_key_value_heads)
        if family == "gemma2" and name.endswith("norm.weight"):
            w = w + numpy.float32(1)
        if family == "gpt2" and w.ndim == 2 and ".h." in key:
            w = w.T
        out[name] = w
    rope = getattr(c, "rope_parameters", None) or {}
    if rope.get("rope_type") == "llama3":
        plain = 1 / rope["rope_theta"] ** (torch.arange(0, c.head_dim, 2).double() / c.head_dim)
        out["rope_freqs.weight"] = (plain / T.modeling_rope_utils.ROPE_INIT_FUNCTIONS["llama3"](c, "cpu")[0]).float().numpy()
    return out


def same_tensors(reader, want, what):
    have = {t.name: t for t in reader.tensors}
    assert have.keys() == want.keys(), f"{what}: {have.keys() ^ want.keys()}"
    for name, w in want.items():
        t = have[name]
        assert tuple(reversed(t.shape.tolist())) == w.shape and t.tensor_type == gguf.GGMLQuantizationType.F32, f"{what}: {name}"
        same = numpy.allclose(t.data, w, rtol=1e-6) if name == "rope_freqs.weight" else numpy.array_equal(t.data.reshape(w.shape), w)
        assert same, f"{what}: {name}"


def same_keys(reader, family, c, what):
    arch = ARCH[family]
    want = {"block_count": c.num_hidden_layers, "embedding_length": c.hidden_size, "attention.head_count": c.num_attention_heads,
            "context_length": c.max_position_embeddings, "vocab_size": c.vocab_size}
    if family == "gpt2":
        want |= {"attention.layer_norm_epsilon": c.layer_norm_epsilon, "feed_forward_length": c.n_inner}
    else:
        head = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
        want |= {"attention.head_count_kv": c.num_key_value_heads, "attention.layer_norm_rms_epsilon": c.rms_norm_eps, "feed_forward_length": c.intermediate_size,
                 "rope.freq_base": c.rope_parameters["rope_theta"], "attention.key_length": head, "attention.value_length": head}
    if ARCH[family] == "llama":
        want |= {"rope.dimension_count": head}
    if family in ("mistral", "mixtral") and c.sliding_window:
        want["context_length"] = min(c.sliding_window, c.max_position_embeddings)
    if family == "mixtral":
        want |= {"expert_count": c.num_local_experts, "expert_used_count": c.num_experts_per_tok}
    if family == "gemma2":
        want |= {"attention.sliding_window": c.sliding_window, "attn_logit_softcapping": c.attn_logit_softcapping, "final_logit_softcapping": c.final_logit_softcapping}
    assert value(reader, "general.architecture") == arch, what
    have = {k.removeprefix(arch + "."): value(reader, k) for k in reader.fields if k.startswith(arch + ".")}
    assert have.keys() == want.keys(), f"{what}: {have.keys() ^ want.keys()}"
    for key, x in want.items():
        assert numpy.float32(have[key]) == numpy.float32(x), f"{what}: {key} is {have[key]}, not {x}"


def same_tokens(reader, source, size, what):
    """The tokenizer, by what its own library says of the file."""
    tokens, kinds = value(reader, "tokenizer.ggml.tokens"), value(reader, "tokenizer.ggml.token_type")
    assert len(tokens) == len(kinds) == size, what
    if source.suffix == ".model":
        s = sentencepiece.SentencePieceProcessor(model_file=str(source))
        n = s.get_piece_size()
        assert tokens[:n] == [s.id_to_piece(i) for i in range(n)], what
        assert numpy.array_equal(numpy.float32(value(reader, "tokenizer.ggml.scores")[:n]), numpy.float32([s.get_score(i) for i in range(n)])), what
        want = [2 if s.is_unknown(i) else 3 if s.is_control(i) else 5 if s.is_unused(i) else 6 if s.is_byte(i) else 1 for i in range(n)]
        assert all(k in (w, 4) if w == 1 else k == w for k, w in zip(kinds, want)), what
        assert value(reader, "tokenizer.ggml.model") == "llama" and "tokenizer.ggml.merges" not in reader.fields, what
    else:
        t = json.loads(source.read_text())
        n = max([*t["model"]["vocab"].values(), *(a["id"] for a in t["added_tokens"])]) + 1
        text = {i: x for x, i in t["model"]["vocab"].items()} | {a["id"]: a["content"] for a in t["added_tokens"]}
        assert tokens[:n] == [text[i] for i in range(n)], what
        kind = {a["id"]: 3 if a["special"] else 4 for a in t["added_tokens"]}
        assert kinds[:n] == [kind.get(i, 1) for i in range(n)], what
        assert value(reader, "tokenizer.ggml.merges") == [" ".join(m) for m in t["model"]["merges"]], what
        assert value(reader, "tokenizer.ggml.model") == "gpt2" and "tokenizer.ggml.scores" not in reader.fields, what
    assert kinds[n:] == [5] * (size - n) and len(set(tokens)) == size, what
    assert value(reader, "tokenizer.ggml.pre") == PRE[source.name], what
    for role, token in (("bos", "<s>"), ("eos", "<|end|>")):
        if token in tokens:
            assert value(reader, f"tokenizer.ggml.{role}_token_id") == tokens.index(token), what
    assert value(reader, "tokenizer.ggml.add_bos_token") is True and value(reader, "tokenizer.ggml.add_eos_token") is False, what
    assert value(reader, "tokenizer.chat_template") == SAYS["chat_template"], what


def check(binary, folder, work, tokenizers):
    name = folder.name
    config = json.loads((folder / "config.json").read_text())
    family, kind = config["model_type"], config["architectures"][0]
    source = tokenizers / TOKENIZER[name]
    copy, model, plan, out = (work / f"{name}-{x}" for x in ("copy", "gguf-model", "gguf.bin", "out.gguf"))
    shutil.copytree(folder, copy)
    shutil.copy(source, copy / ("tokenizer.model" if source.suffix == ".model" else "tokenizer.json"))
    (copy / "tokenizer_config.json").write_text(json.dumps(SAYS))
    if family == "gemma2":  # llama.cpp has no other scale
        (copy / "config.json").write_text(json.dumps(config | {"query_pre_attn_scalar": config["head_dim"]}))
    ptc(binary, "import", copy, "-o", model)
    ptc(binary, "compile", model / "model.ptl", "--target", "ref", "--set", "seq=16", "-o", plan)
    ptc(binary, "export", model / "init.safetensors", "--plan", plan, "--format", "gguf", "-o", out)
    reader = gguf.GGUFReader(out)
    theirs = getattr(T, kind).from_pretrained(folder, dtype=torch.float32)
    same_keys(reader, family, theirs.config, name)
    same_tensors(reader, expected(family, theirs), name)
    same_tokens(reader, source, theirs.config.vocab_size, name)
    print(f"{name}: GGUF of {len(reader.tensors)} tensors and {len(reader.fields)} keys, tokenizer {source.name}")


def main():
    binary, cases, work, tokenizers = sys.argv[1], *map(pathlib.Path, sys.argv[2:5])
    for folder in sorted(cases.iterdir()):
        check(binary, folder, work, tokenizers)


if __name__ == "__main__":
    main()
