"""Makes a tokenizer, conversations, and what transformers makes of them by each template.

make.py OUT [TEMPLATES]: OUT gets tok/ (a tokenizer as save_pretrained writes it) and vectors.json: for each template of
the folder TEMPLATES (by default that of the package's tests) and each conversation its text, the ranges of {% generation %}
in bytes, its tokens, and which of them are the assistant's: by transformers' mask where the template has {% generation %},
else by what each message of the assistant adds to the text of those before it. null stands for an error.
"""
import glob
import json
import os
import re
import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
from transformers.utils.chat_template_utils import render_jinja_template

OUT = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
TEMPLATES = sys.argv[2] if len(sys.argv) > 2 else os.path.join(HERE, "../../runtime/chat/testdata/templates")
SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<s>", "</s>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>",
           "<start_of_turn>", "<end_of_turn>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>", "<|im_sep|>", "<｜User｜>", "<｜Assistant｜>"]


def make_tokenizer():
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    text = [open(f, errors="ignore").read() for f in sorted(glob.glob(os.path.join(HERE, "../../docs/*.md")))[:6]]
    tok.train_from_iterator(["user assistant system model "] * 9 + text, trainers.BpeTrainer(
        vocab_size=480, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return PreTrainedTokenizerFast(tokenizer_object=tok, bos_token="<s>", eos_token="</s>", pad_token="<|endoftext|>")


TURNS = [
    ("user", "What is 2 + 2?"), ("assistant", "It is 4."), ("user", "  Sure? žluť 你好 👩‍👧 \n"), ("assistant", "Yes,\n\nquite sure: é.  "),
    ("user", "Write <b>\"x\" & 'y'</b>"), ("assistant", "<think>\nhm\n</think>\n\n{\"a\": [1, 2]}"),
]
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Tells the weather – «today».", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "enum": ["Brno", "北京"]}, "days": {"type": "integer", "default": 3}}, "required": ["city"]}}}]


def said(turns):
    return [{"role": r, "content": c} for r, c in turns]


CONVERSATIONS = [
    {"messages": said(TURNS[:2])},
    {"messages": said(TURNS)},
    {"messages": said([("system", " Be brief. ")] + TURNS[:4])},
    {"messages": said(TURNS[:1])},
    {"messages": said(TURNS[1:4])},
    {"messages": said([("user", ""), ("assistant", "")])},
    {"messages": said([("user", "<|im_end|> is a token</s>"), ("assistant", "<|im_start|>x")])},
    {"messages": said([("user", "a"), ("user", "b"), ("assistant", "c"), ("assistant", "d")])},
    {"messages": said(TURNS[:1]) + [
        {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "weather", "arguments": {"city": "Brno", "days": 2}}}]},
        {"role": "tool", "name": "weather", "content": "{\"sun\": 0.5}"}, {"role": "assistant", "content": "Half a sun."}], "tools": TOOLS},
    {"messages": said(TURNS[:1]) + [{"role": "assistant", "reasoning_content": "let me see", "content": "4", "tool_calls": None}]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "see "}, {"type": "image"}]}, {"role": "assistant", "content": [{"type": "text", "text": "seen"}]}]},
    {"messages": said([("system", "s")] * 1 + [("user", "u" * 200), ("assistant", "a\n" * 40), ("user", "\n"), ("assistant", " ")])},
]


def byte_at(text, n):
    return len(text[:n].encode())


def render(tok, source, record, messages=None, prompt=False):
    chat = record["messages"] if messages is None else messages
    return tok.apply_chat_template(chat, chat_template=source, tools=record.get("tools"), tokenize=False, add_generation_prompt=prompt)


def prefixes(tok, source, record, whole):
    spans = []
    for i, m in enumerate(record["messages"]):
        if m["role"] != "assistant":
            continue
        if i == 0:
            raise ValueError("nothing is before it")
        head = render(tok, source, record, record["messages"][:i], True)
        tail = render(tok, source, record, record["messages"][:i + 1]) if i + 1 < len(record["messages"]) else whole
        if not whole.startswith(head) or not whole.startswith(tail) or len(tail) < len(head):
            raise ValueError("prefixes do not nest")
        spans.append((len(head), len(tail)))
    return spans


def vector(tok, source, record):
    marked = re.search(r"\{%-?\+?\s*generation\s*-?%\}", source)
    out = {"text": None, "prompt": None, "tokens": None, "mask": None, "spans": None}
    try:
        out["prompt"] = render(tok, source, record, None, True)
    except Exception:
        pass
    try:
        out["text"] = text = render(tok, source, record)
        if marked:
            e = tok.apply_chat_template(record["messages"], chat_template=source, tools=record.get("tools"), return_dict=True, return_assistant_tokens_mask=True)
            ids, mask = list(e["input_ids"]), list(e["assistant_masks"])
            _, spans = render_jinja_template([record["messages"]], tools=record.get("tools"), chat_template=source, return_assistant_tokens_mask=True, **tok.special_tokens_map)
            spans = spans[0]
        else:
            spans = prefixes(tok, source, record, text)
            e = tok(text, add_special_tokens=False, return_offsets_mapping=True)
            ids = list(e["input_ids"])
            mask = [int(any(a < hi and b > lo for lo, hi in spans)) for a, b in e["offset_mapping"]]
        out.update(tokens=ids, mask=mask, spans=[[byte_at(text, a), byte_at(text, b)] for a, b in spans])
    except Exception:
        pass
    return out


if __name__ == "__main__":
    tok = make_tokenizer()
    tok.chat_template = open(os.path.join(HERE, "../../runtime/chat/testdata/templates/chatml_marked.jinja")).read()
    tok.save_pretrained(os.path.join(OUT, "tok"))
    templates = {os.path.basename(f)[:-6]: open(f).read() for f in sorted(glob.glob(TEMPLATES + "/*.jinja"))}
    json.dump({"conversations": CONVERSATIONS, "templates": {n: [vector(tok, s, c) for c in CONVERSATIONS] for n, s in templates.items()}},
              open(os.path.join(OUT, "vectors.json"), "w"), ensure_ascii=False, separators=(",", ":"))
