"""Models of each family with random parameters, and their logits, from a seed."""
import json
import pathlib
import shutil
import sys

import torch
import transformers as T

LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0,
              high_freq_factor=4.0, original_max_position_embeddings=8)


def families(tiny):
    """The config and class of each case. Sizes differ, so that axes cannot be confused."""
    size = dict(vocab_size=11, hidden_size=8, intermediate_size=6, num_hidden_layers=2, num_attention_heads=2,
                num_key_value_heads=1, max_position_embeddings=32)
    if not tiny:
        size = dict(vocab_size=831,  # more than the tokenizers of the tests have
                     hidden_size=48, intermediate_size=56, num_hidden_layers=4, num_attention_heads=6,
                    num_key_value_heads=2, max_position_embeddings=64)
    heads = size["num_attention_heads"]
    plain = dict(vocab_size=size["vocab_size"], n_embd=size["hidden_size"], n_layer=size["num_hidden_layers"],
                 n_head=heads, n_positions=32, n_inner=size["intermediate_size"], bos_token_id=0, eos_token_id=0)
    return {
        "llama": (T.LlamaConfig(**size), T.LlamaForCausalLM),
        "llama_tied_biased": (T.LlamaConfig(**size, tie_word_embeddings=True, attention_bias=True), T.LlamaForCausalLM),
        "llama_stretched": (T.LlamaConfig(**size, rope_parameters=LLAMA3), T.LlamaForCausalLM),
        "gpt2": (T.GPT2Config(**plain), T.GPT2LMHeadModel),
        "mistral": (T.MistralConfig(**size, sliding_window=3), T.MistralForCausalLM),
        "qwen2": (T.Qwen2Config(**size, tie_word_embeddings=True), T.Qwen2ForCausalLM),
        "qwen3": (T.Qwen3Config(**size, head_dim=6), T.Qwen3ForCausalLM),
        "gemma2": (T.Gemma2Config(**size, head_dim=6, sliding_window=3, query_pre_attn_scalar=5,
                                  attn_logit_softcapping=2.0, final_logit_softcapping=3.0), T.Gemma2ForCausalLM),
        "mixtral": (T.MixtralConfig(**size, num_local_experts=3, num_experts_per_tok=2), T.MixtralForCausalLM),
    }


def write(out, name, config, kind, seed, seq):
    torch.manual_seed(seed)
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    model = kind(config).eval()
    width = config.n_embd if name == "gpt2" else config.hidden_size
    with torch.no_grad():  # far from what they start as, so that each parameter matters
        for key, p in model.named_parameters():
            around = 1.0 if key.endswith("weight") and p.ndim == 1 and name != "gemma2" else 0.0  # of a norm
            p.copy_(around + torch.randn_like(p) * (0.5 * (8 / width) ** 0.5 if p.ndim > 1 else 0.3))
    folder = out / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder, max_shard_size="20KB" if seq > 16 else "5GB")
    tokens = torch.randint(config.vocab_size, (2, seq))
    with torch.no_grad():
        logits = model.double()(tokens).logits
    (folder / "logits.json").write_text(json.dumps(
        {"tokens": tokens.flatten().tolist(), "batch": 2, "seq": seq, "logits": [round(x, 7) for x in logits.flatten().tolist()]}) + "\n")
    (folder / "generation_config.json").unlink(missing_ok=True)


def main():
    out, tiny = pathlib.Path(sys.argv[1]), sys.argv[2:] == ["tiny"]
    for seed, (name, (config, kind)) in enumerate(families(tiny).items()):
        write(out, name, config, kind, seed, 7 if tiny else 24)


if __name__ == "__main__":
    main()
