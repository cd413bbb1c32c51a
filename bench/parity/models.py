"""The models of examples/ in JAX, by the framework's own operations: its
softmax, gelu and silu, its autodiff, and optax's loss, schedules, clipping and
AdamW. Nothing here is derived from the compiler's output; names
and shapes of parameters are written down again, so that a difference shows.

A model is a function loss(params, tokens, targets, cfg, contract). Parameters
are a dict from path to array, as in a safetensors file. `contract` is the dtype
that contractions read; they accumulate, and all else is done, in the dtype of
the parameters.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax


class Spec:
    """A parameter: its shape, and the mean and standard deviation of its
    initial values."""

    def __init__(self, shape, std=0.0, mean=0.0):
        self.shape, self.std, self.mean = tuple(shape), std, mean


def dot(spec, x, w, contract):
    """einsum, with operands rounded to `contract`."""
    return jnp.einsum(spec, x.astype(contract), w.astype(contract), preferred_element_type=w.dtype)


def attention(q, k, v, contract):
    """Causal attention; q [b, t, heads, d], k and v [b, t, kv, d], where
    query head h sees key h // (heads / kv). (The framework's own attention does
    its softmax in f32 whatever the dtype, so it cannot be the one in f64.)"""
    t, group = q.shape[1], q.shape[2] // k.shape[2]
    k, v = (jnp.repeat(x, group, axis=2) for x in (k, v))
    s = dot("bqhd,bkhd->bhqk", q, k, contract) / np.sqrt(q.shape[3]).astype(q.dtype)
    s = jnp.where(jnp.tril(jnp.ones((t, t), bool)), s, -jnp.inf)
    return dot("bhqk,bkhd->bqhd", jax.nn.softmax(s, axis=-1), v, contract)


def cross_entropy(logits, targets):
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()


# --- gpt ---


def gpt_specs(c):
    e, h, d, f = c["embed"], c["heads"], c["head"], c["ffn"]
    std, out = c["std"], c["std"] / (2 * c["layers"]) ** 0.5
    s = {"wte": Spec([c["vocab"], e], 0.02), "wpe": Spec([c["seq"], e], 0.02)}
    norms = ["ln_f"]
    for i in range(c["layers"]):
        b = f"blocks.{i}"
        norms += [f"{b}.ln1", f"{b}.ln2"]
        for w in ("wq", "wk", "wv"):
            s[f"{b}.attn.{w}"] = Spec([e, h, d], std)
        s[f"{b}.attn.wo"] = Spec([h, d, e], out)
        s[f"{b}.mlp.w1"], s[f"{b}.mlp.b1"] = Spec([e, f], std), Spec([f])
        s[f"{b}.mlp.w2"], s[f"{b}.mlp.b2"] = Spec([f, e], out), Spec([e])
    for n in norms:
        s[f"{n}.gain"], s[f"{n}.shift"] = Spec([e], 0, 1), Spec([e])
    return s


def layer_norm(p, name, x):
    variance = jnp.var(x, axis=-1, keepdims=True)
    x = (x - jnp.mean(x, axis=-1, keepdims=True)) / jnp.sqrt(variance + 1e-5)
    return x * p[f"{name}.gain"] + p[f"{name}.shift"]


def gpt_logits(p, tokens, c, contract):
    x = jnp.take(p["wte"], tokens, axis=0) + p["wpe"]
    for i in range(c["layers"]):
        b = f"blocks.{i}"
        y = layer_norm(p, f"{b}.ln1", x)
        q, k, v = (dot("bte,ehd->bthd", y, p[f"{b}.attn.{w}"], contract) for w in ("wq", "wk", "wv"))
        x = x + dot("bthd,hde->bte", attention(q, k, v, contract), p[f"{b}.attn.wo"], contract)
        y = layer_norm(p, f"{b}.ln2", x)
        y = jax.nn.gelu(dot("bte,ef->btf", y, p[f"{b}.mlp.w1"], contract) + p[f"{b}.mlp.b1"], approximate=False)
        x = x + dot("btf,fe->bte", y, p[f"{b}.mlp.w2"], contract) + p[f"{b}.mlp.b2"]
    return dot("bte,ve->btv", layer_norm(p, "ln_f", x), p["wte"], contract)


# --- llama ---


def llama_specs(c):
    e, h, kv, d, f = c["embed"], c["heads"], c["kv"], c["head"], c["ffn"]
    std, out = c["std"], c["std"] / (2 * c["layers"]) ** 0.5
    s = {
        "embedding.table": Spec([c["vocab"], e], 0.02),
        "norm.gain": Spec([e], 0, 1),
        "output.w": Spec([e, c["vocab"]], 0.02),
    }
    for i in range(c["layers"]):
        b = f"blocks.{i}"
        s[f"{b}.norm1.gain"] = s[f"{b}.norm2.gain"] = Spec([e], 0, 1)
        s[f"{b}.attn.wq"] = Spec([e, h, d], std)
        s[f"{b}.attn.wk"] = s[f"{b}.attn.wv"] = Spec([e, kv, d], std)
        s[f"{b}.attn.wo"] = Spec([h, d, e], out)
        s[f"{b}.mlp.w1"] = s[f"{b}.mlp.w3"] = Spec([e, f], std)
        s[f"{b}.mlp.w2"] = Spec([f, e], out)
    return s


def rms_norm(x, gain):
    return x / jnp.sqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-5) * gain


def rope(x):
    """Rotates x [b, t, heads, h]: the halves of h are the real and imaginary
    parts of h/2 complex numbers, number i of which is turned by the angle
    t · 10000^(-2i/h)."""
    t, h = x.shape[1], x.shape[3]
    frequency = 10000.0 ** (-np.arange(0, h, 2, dtype=np.float64) / h)
    angle = np.outer(np.arange(t), frequency)
    turn = jnp.asarray(np.exp(1j * angle), jnp.result_type(x.dtype, jnp.complex64))
    z = jax.lax.complex(x[..., : h // 2], x[..., h // 2 :]) * turn[None, :, None, :]
    return jnp.concatenate([z.real, z.imag], axis=-1)


def llama_logits(p, tokens, c, contract):
    x = jnp.take(p["embedding.table"], tokens, axis=0)
    for i in range(c["layers"]):
        b = f"blocks.{i}"
        y = rms_norm(x, p[f"{b}.norm1.gain"])
        q, k, v = (dot("bte,ehd->bthd", y, p[f"{b}.attn.{w}"], contract) for w in ("wq", "wk", "wv"))
        y = attention(rope(q), rope(k), v, contract)
        x = x + dot("bthd,hde->bte", y, p[f"{b}.attn.wo"], contract)
        y = rms_norm(x, p[f"{b}.norm2.gain"])
        gate = jax.nn.silu(dot("bte,ef->btf", y, p[f"{b}.mlp.w1"], contract))
        y = gate * dot("bte,ef->btf", y, p[f"{b}.mlp.w3"], contract)
        x = x + dot("btf,fe->bte", y, p[f"{b}.mlp.w2"], contract)
    return dot("bte,ev->btv", rms_norm(x, p["norm.gain"]), p["output.w"], contract)


# --- mlp ---


def mlp_specs(c):
    t, e, h, v = c["seq"], c["embed"], c["hidden"], c["vocab"]
    return {
        "table": Spec([v, e], 0.1),
        "w1": Spec([t, e, h], (t * e) ** -0.5),
        "b1": Spec([h]),
        "w2": Spec([h, v], 0.1 * h**-0.5),
        "b2": Spec([v]),
    }


def mlp_logits(p, tokens, c, contract):
    x = jnp.take(p["table"], tokens, axis=0)
    h = jnp.tanh(dot("bte,teh->bh", x, p["w1"], contract) + p["b1"])
    return dot("bh,hv->bv", h, p["w2"], contract) + p["b2"]


# --- training ---


def after_warmup(c, rest):
    """A linear warm-up, then `rest`, by number of updates made."""
    return optax.join_schedules([optax.linear_schedule(0.0, c["lr"], c["warmup"]), rest], [c["warmup"]])


def gpt_schedule(c):
    return after_warmup(c, optax.cosine_decay_schedule(c["lr"], c["steps"] - c["warmup"], alpha=1 / 10))


def llama_schedule(c):
    stable = optax.constant_schedule(c["lr"])
    decay = c["steps"] // 5
    fall = optax.linear_schedule(c["lr"], c["lr"] / 20, decay)
    return after_warmup(c, optax.join_schedules([stable, fall], [c["steps"] - decay - c["warmup"]]))


def mlp_schedule(c):
    return after_warmup(c, optax.linear_schedule(c["lr"], c["lr"] / 10, c["steps"] - c["warmup"]))


class Model:
    def __init__(self, specs, logits, schedule, config):
        self.specs, self.logits, self.schedule = specs, logits, schedule
        self.config = config  # every value that the arithmetic depends on

    def loss(self, params, tokens, targets, c, contract):
        return cross_entropy(self.logits(params, tokens, c, contract), targets)

    def learning_rate(self, c):
        """The rate of an update after `count` updates; steps count from 1."""
        by_step = self.schedule(c)
        return lambda count: by_step(count + 1)

    def optimizer(self, c):
        """AdamW on what is left of the gradients when their global norm is
        clipped. Only parameters with two axes or more decay."""
        return optax.chain(
            optax.clip_by_global_norm(c["clip"]),
            optax.adamw(
                self.learning_rate(c),
                b1=0.9,
                b2=0.95,
                eps=1e-8,
                weight_decay=c["decay"],
                mask=lambda params: {k: v.ndim >= 2 for k, v in params.items()},
            ),
        )


_TRAIN = dict(steps=20, lr=2e-3, warmup=5, decay=0.1, clip=1.0, vocab=256)

MODELS = {
    "gpt": Model(
        gpt_specs,
        gpt_logits,
        gpt_schedule,
        dict(_TRAIN, layers=4, batch=8, seq=128, embed=128, heads=4, head=32, ffn=512, std=0.05),
    ),
    "llama": Model(
        llama_specs,
        llama_logits,
        llama_schedule,
        dict(_TRAIN, layers=4, batch=8, seq=128, embed=128, heads=4, kv=2, head=32, ffn=352, std=0.05),
    ),
    # The warm-up and the decay of mlp are in its source, not in its config.
    "mlp": Model(
        mlp_specs,
        mlp_logits,
        mlp_schedule,
        dict(_TRAIN, steps=40, warmup=20, decay=0.01, lr=3e-3, batch=256, seq=16, embed=32, hidden=256),
    ),
}

# What of a model's config is written in its source and has no name there.
FIXED = {"mlp": {"warmup", "decay"}}
