"""Writes which bytes of each document a token is of, as the library tokenizers says.

ranges.py DIR: DIR has docs.json and files tokenizer.json of make.py; DIR/ranges.json gets for each file, and for each
document, the first and last byte of each token, [from, to, from, to, …].
"""
import base64
import glob
import json
import os
import sys

from tokenizers import Tokenizer

directory = sys.argv[1]
texts = [base64.b64decode(d).decode("utf-8", errors="replace") for d in json.load(open(directory + "/docs.json"))]
out = {}
for path in sorted(glob.glob(directory + "/*.json")):
    name = os.path.basename(path)
    if name in ("docs.json", "vectors.json", "ranges.json"):
        continue
    tok = Tokenizer.from_file(path)
    tok.no_truncation()
    tok.no_padding()
    rows = []
    for text in texts:
        at = [0]
        for c in text:
            at.append(at[-1] + len(c.encode()))
        rows.append([at[k] for pair in tok.encode(text, add_special_tokens=False).offsets for k in pair])
    out[name] = rows
json.dump(out, open(directory + "/ranges.json", "w"), separators=(",", ":"))
