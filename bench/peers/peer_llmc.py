"""A training step in llm.c (https://github.com/karpathy/llm.c), on processors:
f32, and GPT-2 alone. It has the tanh form of gelu, biases in attention, which
begin as zeros here, decays every parameter and does not clip; its losses are
compared with a wider tolerance."""

import ctypes
import os
import shutil
import struct
import subprocess
import tempfile

VERSION = "llm.c"
SOURCE = "https://github.com/karpathy/llm.c"
FLAGS = ["-Ofast", "-march=native", "-fno-finite-math-only", "-Wno-unused-result", "-DOMP", "-fopenmp", "-shared", "-fPIC"]


def checkout():
    """The folder of the sources: LLMC_DIR, or one that is made; None where they
    cannot be had."""
    named = os.environ.get("LLMC_DIR")
    folder = named or os.path.join(os.environ.get("PEERS_DIR", tempfile.gettempdir()), "llm.c")
    if os.path.exists(os.path.join(folder, "train_gpt2.c")):
        return folder
    if named or not shutil.which("git"):
        return None
    try:
        p = subprocess.run(["git", "clone", "--quiet", "--depth", "1", SOURCE, folder], capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        return None
    return folder if p.returncode == 0 else None


def missing():
    """Why it cannot be measured here; None where it can."""
    if not shutil.which("cc"):
        return "llm.c needs a C compiler"
    if checkout() is None:
        return "the sources of llm.c could not be had (LLMC_DIR names a checkout)"
    return None


def write_checkpoint(path, c, params):
    """Writes parameters in the form of llm.c, version 3 of its f32 files: 256
    integers, then sixteen tensors over all layers, weights as [out, in], the
    vocabulary padded to a multiple of 128."""
    import numpy as np

    e, f, n = c["embed"], c["ffn"], c["layers"]
    padded = -(-c["vocab"] // 128) * 128
    head = [20240326, 3, c["seq"], c["vocab"], n, c["heads"], e, padded]

    def layers(name, change=lambda x: x):
        return np.stack([change(params[f"blocks.{i}.{name}"]) for i in range(n)])

    wte = np.zeros((padded, e), np.float32)
    wte[: c["vocab"]] = params["wte"]
    q, k, v = (layers(f"attn.{w}", lambda x: x.reshape(e, -1).T) for w in ("wq", "wk", "wv"))
    tensors = [
        wte, params["wpe"], layers("ln1.gain"), layers("ln1.shift"), np.concatenate((q, k, v), axis=1), np.zeros((n, 3 * e), np.float32),
        layers("attn.wo", lambda x: x.reshape(-1, e).T), np.zeros((n, e), np.float32), layers("ln2.gain"), layers("ln2.shift"),
        layers("mlp.w1", lambda x: x.T), layers("mlp.b1"), layers("mlp.w2", lambda x: x.T), layers("mlp.b2"),
        params["ln_f.gain"], params["ln_f.shift"],
    ]  # fmt: skip
    if f != 4 * e:
        raise ValueError(f"llm.c has a hidden layer of {4 * e}, not {f}")
    with open(path, "wb") as out:
        out.write(struct.pack("<256i", *head, *[0] * (256 - len(head))))
        for t in tensors:
            out.write(np.ascontiguousarray(t, "<f4").tobytes())


class Peer:
    def __init__(self, spec, params):
        self.c, self.count = spec["config"], 0
        here = os.path.dirname(os.path.abspath(__file__))
        with tempfile.TemporaryDirectory() as folder:
            library, weights = os.path.join(folder, "llmc.so"), os.path.join(folder, "weights.bin")
            subprocess.run(["cc", *FLAGS, "-I", checkout(), "-o", library, os.path.join(here, "llmc.c"), "-lm"], check=True)
            write_checkpoint(weights, self.c, params)
            self.lib = ctypes.CDLL(library)
            self.lib.llmc_step.restype = ctypes.c_float
            self.lib.llmc_open(weights.encode())

    def compile(self, tokens, targets):
        return None

    def step(self, tokens, targets):
        import numpy as np

        from workloads import learning_rate

        self.count += 1
        ints = ctypes.POINTER(ctypes.c_int)
        rate = learning_rate("gpt", self.c, min(self.count, self.c["warmup"]))
        a, b = (np.ascontiguousarray(x, np.int32) for x in (tokens, targets))
        return self.lib.llmc_step(a.ctypes.data_as(ints), b.ctypes.data_as(ints), a.shape[0], a.shape[1],
                                  ctypes.c_float(rate), ctypes.c_float(self.c["decay"]), self.count)  # fmt: skip
