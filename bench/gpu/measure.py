"""Speed of ptc's plans on a GPU beside PyTorch and JAX: training steps of models in bf16.

`measure.py --ptc PATH --examples DIR --seconds N --output FILE --table FILE`. Each workload is measured by
processes of their own, one after the other, as long as there is time: ptc first, so that there are
figures of it even where nothing else is installed. Everyone trains on the same batch; parameters are
not the same, as losses are the tests' matter."""

import argparse
import array
import json
import os
import random
import re
import subprocess
import sys
import time

TRAIN = dict(steps=4000, warmup=400, lr=6e-4, decay=0.1, clip=1.0, std=0.02)
WORKLOADS = [
    ("gpt2-124m", "gpt", dict(layers=12, embed=768, heads=12, head=64, ffn=3072, vocab=50257, seq=1024, batch=32)),
    ("tiny", "gpt", dict(layers=2, embed=32, heads=2, head=16, ffn=128, vocab=256, seq=32, batch=2)),
    ("llama-1.1b", "llama", dict(layers=22, embed=2048, heads=32, kv=4, head=64, ffn=5632, vocab=32000, seq=2048, batch=4)),
    ("gpt2-350m", "gpt", dict(layers=24, embed=1024, heads=16, head=64, ffn=4096, vocab=50257, seq=1024, batch=16)),
]
PEERS = ("torch-compile", "torch-eager", "jax")


def median(xs):
    return sorted(xs)[len(xs) // 2]


def tokens(config, path):
    """A batch of uniformly random tokens, the same for ptc and its peers, written to path as u16: windows that share
    the token where they meet. Text of few letters would put most of an embedding's gradient into few rows."""
    rng = random.Random(1)
    out = array.array("H", (rng.randrange(config["vocab"]) for _ in range(config["batch"] * config["seq"] + 1)))
    if sys.byteorder == "big":
        out.byteswap()
    with open(path, "wb") as f:
        out.tofile(f)


def windows(config, path):
    """The tokens of a file as inputs and targets, [batch, seq] each."""
    import numpy as np

    t = np.fromfile(path, dtype="<u2").astype(np.int64)
    shape = (config["batch"], config["seq"])
    return t[:-1].reshape(shape), t[1:].reshape(shape)


DATA = re.compile(r"data\.text\(corpus,[^\n]*\)")


def source(examples, name, model, config):
    """Writes NAME.ptl, the example on the batch of NAME.tokens, and both files' names are by the workload's."""
    with open(os.path.join(examples, model, f"{model}.ptl")) as f:
        text, n = DATA.subn("data.tokens(corpus, dtype = u16, window = seq, valid = 0)", f.read())
    if n != 1:
        raise RuntimeError(f"{model}.ptl has {n} sources of text; expected one")
    with open(f"{name}.ptl", "w") as f:
        f.write(text + "\nlayout measured {\n  precision { compute = bf16 }\n}\n")
    tokens(config, f"{name}.tokens")


def ptc(args, name, model, config, limit):
    """Milliseconds of a step, the loss of the first steps, and what the plan says of itself."""
    plan = f"{name}.bin"
    source(args.examples, name, model, config)
    sets = [x for k, v in dict(config, corpus=f"{name}.tokens").items() for x in ("--set", f"{k}={v}")]
    began = time.time()
    subprocess.run([args.ptc, "compile", f"{name}.ptl", "--layout", "measured", "--target", args.target, "-q", "-o", plan] + sets, check=True, timeout=limit)
    compiled = time.time() - began
    explained = json.loads(subprocess.run([args.ptc, "explain", plan, "--json"], check=True, capture_output=True, timeout=limit).stdout)
    run = subprocess.run([args.ptc, "run", plan, "--steps", str(args.steps), "--log", "json", "--eval-every", "0"], capture_output=True, timeout=limit, text=True)
    if run.returncode != 0:
        raise RuntimeError(run.stderr[-2000:])
    steps = [e for e in map(json.loads, run.stdout.splitlines()) if e.get("event") == "step"]
    return {"ms": median([s["ms"] for s in steps[3:]]), "losses": [s["loss"] for s in steps[:3]], "compile_s": compiled,
            "flops": explained["flops_per_step"], "launches": explained["launches_per_step"], "roofline": explained.get("roofline")}


def shapes():
    """The module that knows the models' parameters. It is written for JAX, which need not be here
    for that."""
    import types

    os.environ.setdefault("JAX_PLATFORMS", "cuda")
    for name in ("jax", "jax.numpy", "optax"):
        try:
            __import__(name)
        except ImportError:
            sys.modules[name] = types.ModuleType(name)
            if "." in name:
                setattr(sys.modules["jax"], "numpy", sys.modules[name])
    import models

    return models


def peer(name, which, model, config, steps, device):
    """In a process of its own: prints milliseconds of a step and peak bytes, as JSON."""
    import numpy as np

    tokens(config, f"{name}.tokens")
    x, y = windows(config, f"{name}.tokens")
    models = shapes()
    normal = np.random.default_rng(2).standard_normal
    spec = {"peer": which, "model": model, "config": dict(TRAIN, **config), "bf16": True, "threads": os.cpu_count(), "device": device}
    params = {k: (s.mean + s.std * normal(s.shape)).astype("float32") for k, s in models.MODELS[model].specs(spec["config"]).items()}
    import importlib

    p = importlib.import_module("peer_jax" if which == "jax" else "peer_torch").Peer(spec, params)
    compiled = p.compile(x, y)
    seconds = []
    for _ in range(steps):
        began = time.perf_counter()
        p.step(x, y)
        seconds.append(time.perf_counter() - began)
    print(json.dumps({"ms": 1e3 * median(seconds[3:]), "compile_s": compiled}))


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--ptc", default="./ptc")
    a.add_argument("--examples", default="examples")
    a.add_argument("--target", default="cuda:sm_90a")
    a.add_argument("--seconds", type=float, default=300)
    a.add_argument("--steps", type=int, default=30)
    a.add_argument("--output", default="gpu.json")
    a.add_argument("--table", default="gpu.md")
    a.add_argument("--device", default="cuda", help="of a peer")
    a.add_argument("--peer", nargs=2, metavar=("PEER", "WORKLOAD"))
    args = a.parse_args()
    if args.peer:
        which, name = args.peer
        _, model, config = next(w for w in WORKLOADS if w[0] == name)
        peer(name, which, model, config, args.steps, args.device)
        return
    end = time.time() + args.seconds
    rows = []

    def save():
        with open(args.output, "w") as f:
            json.dump({"date": time.strftime("%Y-%m-%d"), "rows": rows}, f, indent=1)
        with open(args.table, "w") as f:
            f.write("| workload | who | ms a step | TFLOP/s | ratio |\n| --- | --- | --- | --- | --- |\n")
            ours = {r["workload"]: r for r in rows if r["who"] == "ptc" and "ms" in r}
            for r in rows:
                own = ours.get(r["workload"])
                if "ms" in r and own:
                    f.write(f"| {r['workload']} | {r['who']} | {r['ms']:.2f} | {own['flops'] / r['ms'] / 1e9:.1f} | {r['ms'] / own['ms']:.2f} |\n")
                else:
                    f.write(f"| {r['workload']} | {r['who']} | {r.get('failed', '')} | | |\n")

    for who in ("ptc",) + PEERS:
        for name, model, config in WORKLOADS:
            if end - time.time() < 5:
                break
            limit = max(5, (end - time.time()) / 2)  # what never ends takes no more than half from the others
            row = {"workload": name, "who": who}
            try:
                if who == "ptc":
                    row.update(ptc(args, name, model, config, limit))
                else:
                    out = subprocess.run([sys.executable, __file__, "--peer", who, name, "--steps", str(args.steps)], capture_output=True, text=True, timeout=limit)
                    if out.returncode != 0:
                        raise RuntimeError(out.stderr[-500:])
                    row.update(json.loads(out.stdout.splitlines()[-1]))
            except Exception as e:  # the others are measured all the same
                row["failed"] = (str(e).strip() or type(e).__name__).splitlines()[-1][:200]
            rows.append(row)
            print(row, flush=True)
            save()


if __name__ == "__main__":
    main()
