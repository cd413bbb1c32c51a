"""Tests of the measuring instrument: that the reference is what it says, by
properties and by formulas written in another way, and that each kind of
difference is noticed."""

import os
import tempfile
import unittest

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp
import numpy as np

import tensorfile
from compare import Tolerance, compare, initial_problems
from models import MODELS, attention, rope
from parity import random_init
from reference import Trace, train

SMALL = {
    "gpt": dict(layers=2, batch=2, seq=6, embed=8, heads=2, head=4, ffn=12, vocab=11),
    "llama": dict(layers=2, batch=2, seq=6, embed=8, heads=4, kv=2, head=4, ffn=12, vocab=11),
    "mlp": dict(batch=4, seq=3, embed=4, hidden=6, vocab=11),
}


def small(name):
    m = MODELS[name]
    c = dict(m.config, **SMALL[name])
    p = {k: v.astype(np.float64) for k, v in random_init(m.specs(c), 3).items()}
    rng = np.random.default_rng(5)
    tokens = rng.integers(0, c["vocab"], (c["batch"], c["seq"])).astype(np.int32)
    targets = rng.integers(0, c["vocab"], tokens.shape[: 1 if name == "mlp" else 2]).astype(np.int32)
    return m, c, p, tokens, targets


class Reference(unittest.TestCase):
    def test_gradients_are_slopes(self):
        """Along a random direction u of length 1, grad·u is the central
        difference of the loss."""
        for name in SMALL:
            m, c, p, tokens, targets = small(name)
            f = jax.jit(lambda q: m.loss(q, tokens, targets, c, jnp.float64))
            g = jax.grad(f)(p)
            rng = np.random.default_rng(1)
            for k in p:
                u = rng.standard_normal(p[k].shape)
                u /= np.linalg.norm(u)
                h = 1e-5
                slope = (f({**p, k: p[k] + h * u}) - f({**p, k: p[k] - h * u})) / (2 * h)
                self.assertAlmostEqual(float(slope), float(np.sum(g[k] * u)), delta=1e-8, msg=f"{name} {k}")

    def test_the_future_is_not_seen(self):
        for name in ("gpt", "llama"):
            m, c, p, tokens, _ = small(name)
            before = m.logits(p, tokens, c, jnp.float64)
            changed = tokens.copy()
            changed[:, 4] = (changed[:, 4] + 1) % c["vocab"]
            after = m.logits(p, changed, c, jnp.float64)
            np.testing.assert_array_equal(before[:, :4], after[:, :4])
            self.assertTrue(np.all(np.any(np.asarray(before[:, 4:] != after[:, 4:]), axis=-1)))

    def test_rope_by_pairs(self):
        x = np.random.default_rng(2).standard_normal((1, 5, 1, 6))
        y = np.asarray(rope(jnp.asarray(x)))
        for t in range(5):
            for i in range(3):
                a = t * 10000 ** (-2 * i / 6)
                u, v = x[0, t, 0, i], x[0, t, 0, i + 3]
                want = [u * np.cos(a) - v * np.sin(a), v * np.cos(a) + u * np.sin(a)]
                np.testing.assert_allclose(y[0, t, 0, [i, i + 3]], want, atol=1e-12)

    def test_attention_against_the_framework(self):
        rng = np.random.default_rng(4)
        q = rng.standard_normal((2, 5, 6, 4)).astype(np.float32)
        k, v = (rng.standard_normal((2, 5, 2, 4)).astype(np.float32) for _ in range(2))
        want = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="xla")
        np.testing.assert_allclose(attention(*map(jnp.asarray, (q, k, v)), jnp.float32), want, atol=1e-5)

    def test_adamw_by_hand(self):
        """Two steps of clipped AdamW against its equations in NumPy."""
        m, c, p, tokens, targets = small("gpt")
        c = dict(c, clip=0.05, warmup=1)
        t = train(m, c, p, [(tokens, targets)] * 2, "f64")
        w = dict(p)
        s1 = {k: np.zeros_like(v) for k, v in p.items()}
        s2 = {k: np.zeros_like(v) for k, v in p.items()}
        for step in (1, 2):
            g = jax.grad(lambda q: m.loss(q, tokens, targets, c, jnp.float64))(w)
            norm = np.sqrt(sum(np.sum(np.square(v)) for v in g.values()))
            self.assertGreater(norm, c["clip"])
            progress = (step - 1) / (c["steps"] - 1)
            lr = c["lr"] * (0.1 + 0.9 * 0.5 * (1 + np.cos(np.pi * progress)))
            for k in w:
                d = np.asarray(g[k]) * c["clip"] / norm
                s1[k] = 0.9 * s1[k] + 0.1 * d
                s2[k] = 0.95 * s2[k] + 0.05 * d * d
                u = s1[k] / (1 - 0.9**step) / (np.sqrt(s2[k] / (1 - 0.95**step)) + 1e-8)
                w[k] = w[k] - lr * (u + (c["decay"] * w[k] if w[k].ndim >= 2 else 0))
            self.assertAlmostEqual(t.lr[step - 1], lr, places=9)
        for k in w:
            np.testing.assert_allclose(t.params[k], w[k], rtol=1e-6, atol=1e-9, err_msg=k)

    def test_schedules(self):
        c = dict(steps=20, lr=1.0, warmup=5)
        gpt = MODELS["gpt"].learning_rate(c)
        llama = MODELS["llama"].learning_rate(c)
        for step, g, w in ((1, 0.2, 0.2), (5, 1.0, 1.0), (16, None, 1.0), (18, None, 0.525), (20, 0.1, 0.05)):
            if g is not None:
                self.assertAlmostEqual(float(gpt(step - 1)), g, places=6)
            self.assertAlmostEqual(float(llama(step - 1)), w, places=6)


class Comparison(unittest.TestCase):
    def setUp(self):
        self.tol = Tolerance(loss=1e-4, grad=1e-4, norm=1e-4, params=1e-3)
        self.init = {"w": np.zeros((2, 2)), "b": np.zeros(2)}

    def trace(self):
        steps = [dict(loss=5.0 - i, grad_norm=1.0, lr=0.1) for i in range(3)]
        return Trace(steps, {"w": np.ones((2, 2)), "b": np.ones(2)}, {"w": np.ones((2, 2)), "b": np.ones(2)})

    def problems(self, change):
        t = self.trace()
        change(t)
        return compare(t, self.trace(), self.init, self.tol).problems

    def test_equal(self):
        self.assertEqual(self.problems(lambda t: None), [])

    def test_each_difference(self):
        nan = float("nan")
        changes = {
            "loss": lambda t: t.loss.__setitem__(1, 4.001),
            "loss NaN": lambda t: t.loss.__setitem__(1, nan),
            "a step less": lambda t: t.loss.pop(),
            "norm": lambda t: t.grad_norm.__setitem__(2, 1.01),
            "lr": lambda t: t.lr.__setitem__(0, 0.11),
            "gradient": lambda t: t.grads.update(b=np.array([1.0, 1.001])),
            "gradient NaN": lambda t: t.grads.update(b=np.array([1.0, nan])),
            "no gradient": lambda t: t.grads.pop("b"),
            "gradient's shape": lambda t: t.grads.update(b=np.ones(3)),
            "another gradient": lambda t: t.grads.update(c=np.ones(3)),
            "last": lambda t: t.params.update(w=np.full((2, 2), 1.1)),
            "last NaN": lambda t: t.params.update(w=np.full((2, 2), nan)),
        }
        for name, change in changes.items():
            self.assertEqual(len(self.problems(change)), 1, name)

    def test_initial_parameters(self):
        m = MODELS["gpt"]
        specs = m.specs(m.config)
        rng = np.random.default_rng(0)
        good = {k: s.mean + s.std * rng.standard_normal(s.shape) for k, s in specs.items()}
        self.assertEqual(initial_problems(good, specs), [])
        for k, v in {"wte": good["wte"] * 1.1, "ln_f.gain": good["ln_f.gain"] * 1.1, "wpe": good["wpe"][:5]}.items():
            self.assertEqual(len(initial_problems({**good, k: v}, specs)), 1, k)


class Safetensors(unittest.TestCase):
    def test_round_trip_and_damage(self):
        t = {"a.b": np.arange(6, dtype=np.float32).reshape(2, 3), "c": np.array(7, np.int32), "e": np.zeros((0, 2), np.float64)}
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "t.safetensors")
            tensorfile.save(path, t)
            got = tensorfile.load(path)
            self.assertEqual(got.keys(), t.keys())
            for k in t:
                np.testing.assert_array_equal(got[k], t[k])
                self.assertEqual(got[k].dtype, t[k].dtype)
            with open(path, "rb") as f:
                whole = f.read()
            for bad in (whole[:4], whole[:40], whole[:-1], whole + b"\0"):
                with open(path, "wb") as f:
                    f.write(bad)
                self.assertRaises(ValueError, tensorfile.load, path)


if __name__ == "__main__":
    unittest.main()
