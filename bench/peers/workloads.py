"""What is measured: models with their sizes, and how much arithmetic a step of
them is."""

import math


class Workload:
    """A training step. `model` is a folder of examples/; `config` is passed to
    ptc with --set, and to the peers."""

    def __init__(self, name, model, config, bf16=False, peers=("jax", "torch-eager", "torch-compile")):
        self.name, self.model, self.config, self.bf16, self.peers = name, model, config, bf16, peers

    @property
    def tokens(self):
        return self.config["batch"] * self.config["seq"]


# Schedules are calm, so that runs which differ by roundings stay together.
_TRAIN = dict(steps=4000, warmup=400, lr=6e-4, decay=0.1, clip=1.0)
_GPT2 = dict(_TRAIN, layers=12, embed=768, heads=12, head=64, ffn=3072, vocab=50257, std=0.02)
_LLAMA = dict(_TRAIN, layers=12, embed=768, heads=12, kv=4, head=64, ffn=2048, vocab=22528, std=0.02)
_SMALL = dict(_TRAIN, layers=4, seq=128, embed=128, heads=4, head=32, vocab=256, std=0.05)
_MOE = dict(_SMALL, batch=8, experts=8, ffn=256, chosen=2, capacity=1.25)


def workloads():
    out = []
    for batch, seq in ((4, 256), (1, 1024), (1, 4096)):
        for dtype in ("f32", "bf16"):
            c = dict(_GPT2, batch=batch, seq=seq)
            peers = ("jax", "torch-eager", "torch-compile") + (("llmc",) if (seq, dtype) == (256, "f32") else ())
            out.append(Workload(f"gpt2-124m-b{batch}-t{seq}-{dtype}", "gpt", c, dtype == "bf16", peers))
    for batch, seq in ((4, 256), (1, 2048)):
        out.append(Workload(f"llama-110m-b{batch}-t{seq}-f32", "llama", dict(_LLAMA, batch=batch, seq=seq)))
    out.append(Workload("moe-8x-f32", "moe", _MOE, peers=("torch-eager", "torch-compile")))
    out.append(Workload("tiny-f32", "gpt", dict(_SMALL, layers=2, batch=2, seq=32, embed=32, heads=2, head=16, ffn=128)))
    out.append(Workload("default-gpt-f32", "gpt", dict(_SMALL, batch=16, ffn=512)))
    return out


def quick(w):
    """The same with sizes that show whether the harness works, and nothing else."""
    c = dict(w.config, layers=2, embed=64, heads=4, head=16, ffn=256, batch=2, seq=32, vocab=256)
    if w.model == "llama":
        c["kv"] = 2
    return Workload(w.name, w.model, c, w.bf16, w.peers)


class Spec:
    """A parameter: its shape, and the mean and deviation of its initial values."""

    def __init__(self, shape, std=0.0, mean=0.0):
        self.shape, self.std, self.mean = tuple(shape), std, mean


def moe_specs(c):
    """Of examples/moe; those of gpt and llama are in bench/parity."""
    e, h, d, f, x = c["embed"], c["heads"], c["head"], c["ffn"], c["experts"]
    std, out = c["std"], c["std"] / (2 * c["layers"]) ** 0.5
    s = {"wte": Spec([c["vocab"], e], 0.02), "wpe": Spec([c["seq"], e], 0.02)}
    norms = ["ln_f"]
    for i in range(c["layers"]):
        b = f"blocks.{i}"
        norms += [f"{b}.ln1", f"{b}.ln2"]
        for w in ("wq", "wk", "wv"):
            s[f"{b}.attn.{w}"] = Spec([e, h, d], std)
        s[f"{b}.attn.wo"] = Spec([h, d, e], out)
        s[f"{b}.moe.router"] = Spec([e, x], std)
        s[f"{b}.moe.w1"], s[f"{b}.moe.b1"] = Spec([x, e, f], std), Spec([x, f])
        s[f"{b}.moe.w2"], s[f"{b}.moe.b2"] = Spec([x, f, e], out), Spec([x, e])
    for n in norms:
        s[f"{n}.gain"], s[f"{n}.shift"] = Spec([e], 0, 1), Spec([e])
    return s


def decays(name, ndim):
    """Whether AdamW decays a parameter: matrices, but no biases of experts."""
    return ndim >= 2 and not name.endswith((".moe.b1", ".moe.b2"))


def slots(c):
    """How many tokens of a sequence an expert takes."""
    return min(max(-math.floor(1e-9 - c["seq"] * c["chosen"] / c["experts"] * c["capacity"]), 1), c["seq"])


def learning_rate(model, c, step):
    """The rate of a step, from 1: linear warm-up, then as the example has it,
    which for these short runs is never reached."""
    if step > c["warmup"]:
        raise ValueError(f"step {step} is behind the warm-up")
    return c["lr"] * step / c["warmup"]


def flops(w, shapes):
    """Of a step: 6·N·D for N parameters that are multiplied (tables that are
    only looked up are not) and D tokens, and 12·L·T²·d a sequence for full
    attention of L layers to T tokens of width d."""
    c = w.config
    lookups = {"wpe", "embedding.table"}
    active = 0
    for name, shape in shapes.items():
        if name not in lookups:
            n = math.prod(shape)
            if ".moe.w" in name or ".moe.b" in name:
                n = n * c["chosen"] // c["experts"]
            active += n
    attention = 12 * c["layers"] * c["seq"] ** 2 * c["heads"] * c["head"] * c["batch"]
    return 6 * active * w.tokens + attention
