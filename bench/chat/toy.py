"""Takes a small Llama of transformers the whole way: conversations, adapters, evaluation, an answer and export.

toy.py PTC OUT: OUT has tok/ of make.py. The losses of ptc are compared with those that torch computes over the tokens
and the assistant's mask of transformers, before and after training, the latter by the exported folder.
"""
import json
import os
import subprocess
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

PTC, OUT = sys.argv[1], sys.argv[2]
SEQ = 96
MODEL = """
import std.nn
import std.optim
import std.data
import std.models.llama
import "llama/model.ptl"

train Llama {
  loss      = nn.cross_entropy(Llama(tokens), targets, over = vocab, masked = true)
  optimizer = optim.AdamW(lr = 2e-2, weight_decay = 0.0)
  data      = data.chat("talks/*", window = seq, valid = 0)
  steps     = 120
  lora { rank = 8  alpha = 16  on = blocks.*.attn.**, blocks.*.mlp.** }
}
"""


def run(*args):
    done = subprocess.run([PTC, *args], cwd=OUT, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        sys.exit(f"ptc {' '.join(args)}: {done.stderr}")
    return done.stdout


def loss(folder, conversations):
    tok, model = AutoTokenizer.from_pretrained(OUT + "/tok"), AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    total, count = 0.0, 0
    for m in conversations:
        e = tok.apply_chat_template(m, return_dict=True, return_assistant_tokens_mask=True)
        ids, mask = torch.tensor(e["input_ids"]), torch.tensor(e["assistant_masks"]).bool()
        with torch.no_grad():
            each = torch.nn.functional.cross_entropy(model(ids[None]).logits[0, :-1].float(), ids[1:], reduction="none")
        total, count = total + each[mask[1:]].sum().item(), count + int(mask[1:].sum())
    return total / count


def close(what, got, want):
    print(f"{what}: {got:.6f}, by transformers {want:.6f}")
    if abs(got - want) > 2e-4 * abs(want):
        sys.exit("they differ")


torch.manual_seed(1)
vocab = AutoTokenizer.from_pretrained(OUT + "/tok").vocab_size
LlamaForCausalLM(LlamaConfig(vocab_size=vocab, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                             max_position_embeddings=SEQ, tie_word_embeddings=True, bos_token_id=3, eos_token_id=4)).save_pretrained(OUT + "/hf")
subprocess.run(f"cp {OUT}/tok/* {OUT}/hf/", shell=True, check=True)
talks = [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"What is {i}?"}, {"role": "assistant", "content": f"It is {i}: žluť."},
          {"role": "user", "content": "Sure?"}, {"role": "assistant", "content": "Yes."}] for i in range(8)]
open(OUT + "/chat.jsonl", "w").write("".join(json.dumps({"messages": m}) + "\n" for m in talks))
open(OUT + "/m.ptl", "w").write(MODEL)
run("import", "hf", "-o", "llama")
run("data", "prepare", "chat.jsonl", "--tokenizer", "hf", "--chat", "-o", "talks")
run("compile", "m.ptl", "--set", "batch=8", "--set", f"seq={SEQ}", "-o", "m.bin")
before = json.loads(run("eval", "m.bin", "--init", "llama/init.safetensors", "--data", "talks/*", "--json"))
close("the loss before", before["loss"], loss(OUT + "/hf", talks))
run("run", "m.bin", "--init", "llama/init.safetensors", "--save", "tuned.safetensors")
after = json.loads(run("eval", "m.bin", "--init", "tuned.safetensors", "--data", "talks/*", "--json"))
run("export", "tuned.safetensors", "--plan", "m.bin", "-o", "out")
close("the loss after", after["loss"], loss(OUT + "/out", talks))
tok, model = AutoTokenizer.from_pretrained(OUT + "/tok"), AutoModelForCausalLM.from_pretrained(OUT + "/out", dtype=torch.float32).eval()
ask = [{"role": "user", "content": "What is 5?"}]
prompt = tok.apply_chat_template(ask, add_generation_prompt=True, return_dict=True, return_tensors="pt")["input_ids"]
with torch.no_grad():
    answer = model.generate(prompt, max_new_tokens=20, do_sample=False, eos_token_id=[tok.eos_token_id, tok.convert_tokens_to_ids("<|im_end|>")])[0, prompt.shape[1]:]
want = tok.decode(answer).removesuffix("<|im_end|>")
got = run("sample", "m.bin", "--init", "tuned.safetensors", "--chat", "--prompt", "What is 5?", "--greedy", "--max-tokens", "20").removesuffix("\n")
print(f"an answer: {got!r}, by transformers {want!r}")
sys.exit(got != want)
