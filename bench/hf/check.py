"""Imports, exports and reads back every model in a folder, with ptc's own commands."""
import json
import pathlib
import subprocess
import sys

import torch
import transformers as T


def ptc(binary, *args):
    done = subprocess.run([binary, *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"ptc {' '.join(map(str, args))}: {done.stderr}")


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
    print(f"{name}: {len(x)} tensors alike to the bit, and the logits")


def main():
    binary, cases, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    for folder in sorted(cases.iterdir()):
        check(binary, folder, work)


if __name__ == "__main__":
    main()
