"""Tests of the harness: its arithmetic, its file forms, and that PyTorch's models
are those of bench/parity."""

import contextlib
import math
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "parity"))

import results
import workloads

with contextlib.suppress(ImportError):
    import numpy as np

GEMM = """product                  tasks  GFLOP/s   peak  library  ratio FMA peak
64x64x64 NN                  1     50.0    50%     40.0   1.25    100.0
48 x 256x256x64 NT          48     80.5    81%     70.0   1.15     99.5
1x3072x768 NN               12      9.0     9%     10.0   0.90     99.0
"""


class Results(unittest.TestCase):
    def test_row_is_of_rounds(self):
        r = results.row("tiny", 2, "jax", "tokens_per_s", [10.0, 30.0, 20.0], [10.0, 10.0, 10.0])
        self.assertEqual((r["ptc"], r["other"], r["ratio"], r["spread"]), (20.0, 10.0, 2.0, 1.0))
        self.assertEqual(set(r), {"workload", "threads", "peer", "metric", "ptc", "other", "ratio", "spread"})
        with self.assertRaises(ValueError):
            results.row("tiny", 2, "jax", "tokens_per_s", [1.0], [1.0, 2.0])

    def test_products(self):
        got = results.parse_gemm(GEMM)
        self.assertEqual(got, {"64x64x64-NN": (50, 40, 100), "48x256x256x64-NT": (80.5, 70, 99.5), "1x3072x768-NN": (9, 10, 99)})
        one = {k: v[:2] for k, v in got.items()}
        two = dict(one, **{"64x64x64-NN": (55.0, 60.0)})
        rows = results.best_of_libraries({"openblas": [one, one], "mkl": [two, two]}, 1)
        best = {r["workload"]: (r["peer"], round(r["ratio"], 3)) for r in rows}
        self.assertEqual(best, {"gemm-64x64x64-NN": ("mkl", 0.917), "gemm-48x256x256x64-NT": ("openblas", 1.15), "gemm-1x3072x768-NN": ("openblas", 0.9)})
        self.assertAlmostEqual(results.geometric_mean([1, 4]), 2)
        self.assertEqual(results.parse_gemm("gemm: no library\n"), {})

    def test_losses(self):
        self.assertEqual(results.close([1.0, 2.0], [1.0, 2.0001], 1e-3), [])
        self.assertEqual(len(results.close([1.0, 2.0], [1.0, 2.1], 1e-3)), 1)
        self.assertEqual(len(results.close([1.0, math.nan], [1.0, 2.0], 1e-3)), 1)
        self.assertEqual(len(results.close([1.0], [1.0, 2.0], 1e-3)), 1)

    def test_sweeps(self):
        k = {"class": "map", "bytes": 100 << 20, "launches_per_step": 2, "ms_per_step": 20, "bound": "memory"}
        rank = {"ceilings": {"update_gb_per_s": 20.0}, "kernels": [k, dict(k, **{"class": "gemm"}), dict(k, bytes=1), dict(k, bound="compute")]}
        self.assertAlmostEqual(results.sweep_share({"ranks": [rank]}), 200 * 2**20 / 20e6 / 20)
        self.assertAlmostEqual(results.sweep_share({"ranks": [rank]}, alone=40), 200 * 2**20 / 20e6 / 40)
        rank["kernels"] = rank["kernels"][1:]
        self.assertIsNone(results.sweep_share({"ranks": [rank]}))

    def test_document(self):
        x = {"machine": "M", "rows": [results.row("tiny", 2, "jax", "peak_bytes", [2**20], [2**21])], "self": {"two_threads": 1.9, "other": None}, "notes": ["no llm.c"]}
        text = results.table(x)
        for want in ("Machine: M.", "| tiny | 2 | jax | MiB at most | 1 | 2 | 0.50 | 0% |", "| two_threads | 1.9 |", "| other | not measured |", "- no llm.c"):
            self.assertIn(want, text)
        before = f"a\n{results.BEGIN}\nold\n{results.END}\nb\n"
        after = results.place(before, text)
        self.assertNotIn("old", after)
        self.assertEqual(results.place(after, text), after)
        self.assertTrue(after.startswith("a\n") and after.endswith("\nb\n"))
        with self.assertRaises(ValueError):
            results.place("nothing", text)

    def test_a_file_is_whole(self):
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "x")
            results.write(path, "a")
            results.write(path, "b")
            with open(path) as f:
                self.assertEqual((f.read(), os.listdir(d)), ("b", ["x"]))


class Workloads(unittest.TestCase):
    def test_names(self):
        names = [w.name for w in workloads.workloads()]
        self.assertEqual(len(names), len(set(names)))
        for want in ("gpt2-124m-b4-t256-f32", "gpt2-124m-b1-t4096-bf16", "llama-110m-b1-t2048-f32", "moe-8x-f32", "tiny-f32", "default-gpt-f32"):
            self.assertIn(want, names)

    def test_flops(self):
        w = next(w for w in workloads.workloads() if w.name == "gpt2-124m-b4-t256-f32")
        n = 100
        got = workloads.flops(w, {"wte": (5, 10), "wpe": (7, 7), "blocks.0.mlp.w1": (5, 10)})
        self.assertEqual(got, 6 * n * 1024 + 4 * 12 * 12 * 256 * 256 * 768)
        moe = next(w for w in workloads.workloads() if w.model == "moe")
        attention = 12 * 4 * 128 * 128 * 128 * 8
        self.assertEqual(workloads.flops(moe, {"blocks.0.moe.w1": (8, 10, 10)}), 6 * 200 * 1024 + attention)

    def test_slots(self):
        c = dict(seq=128, chosen=2, experts=8, capacity=1.25)
        self.assertEqual(workloads.slots(c), 40)
        self.assertEqual(workloads.slots(dict(c, capacity=100.0)), 128)
        self.assertEqual(workloads.slots(dict(c, capacity=0.001)), 1)

    def test_list_needs_nothing(self):
        p = subprocess.run([sys.executable, os.path.join(HERE, "peers.py"), "--list"], capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertIn("tiny-f32/jax\n", p.stdout)


class Models(unittest.TestCase):
    """One step of training in each framework, from the same parameters."""

    def spec(self, model, peer):
        w = workloads.quick(next(w for w in workloads.workloads() if w.model == model))
        return dict(peer=peer, model=model, config=dict(w.config, warmup=10), bf16=False, threads=1)

    def both(self, model):
        import peer_jax
        import peer_torch
        from models import MODELS

        rng = np.random.default_rng(1)
        s = self.spec(model, "jax")
        c = s["config"]
        specs = MODELS[model].specs(c)
        params = {k: (v.mean + 0.1 * rng.standard_normal(v.shape)).astype(np.float32) for k, v in specs.items()}
        tokens, targets = (rng.integers(0, c["vocab"], (c["batch"], c["seq"])).astype(np.int32) for _ in range(2))
        out = []
        for p in (peer_jax.Peer(s, params), peer_torch.Peer(dict(s, peer="torch-eager"), params)):
            p.compile(tokens, targets)
            out.append([p.step(tokens, targets) for _ in range(3)])
        return out

    def test_torch_is_jax(self):
        for model in ("gpt", "llama"):
            a, b = self.both(model)
            np.testing.assert_allclose(a, b, rtol=2e-5, err_msg=model)
            self.assertLess(a[-1], a[0])

    def test_experts_by_hand(self):
        """The mixture against loops over tokens in NumPy."""
        import peer_torch
        import torch

        s = self.spec("moe", "torch-eager")
        c = s["config"] = dict(s["config"], experts=4, capacity=0.75, layers=1)
        rng = np.random.default_rng(2)
        params = {k: (v.mean + 0.3 * rng.standard_normal(v.shape)).astype(np.float32) for k, v in workloads.moe_specs(c).items()}
        x = rng.standard_normal((c["batch"], c["seq"], c["embed"])).astype(np.float32)
        m = peer_torch.Model(s, params)
        with torch.no_grad():
            got, aux = m.moe("blocks.0", torch.from_numpy(x))
        p = {k.rpartition(".")[2]: v.astype(np.float64) for k, v in params.items() if ".moe." in k}
        want, total, dropped = np.zeros(x.shape), 0.0, 0
        for n, rows in enumerate(x.astype(np.float64)):
            logits = rows @ p["router"]
            probability = np.exp(logits - logits.max(-1, keepdims=True))
            probability /= probability.sum(-1, keepdims=True)
            taken, f = np.zeros(c["experts"], int), np.zeros(c["experts"])
            for t, row in enumerate(rows):
                best = np.argsort(-probability[t])[: c["chosen"]]
                share = probability[t][best] / probability[t][best].sum()
                for e, w in zip(best, share):
                    f[e] += 1 / c["seq"] / c["chosen"]
                    taken[e] += 1
                    if taken[e] > workloads.slots(c):
                        dropped += 1
                        continue
                    h = row @ p["w1"][e] + p["b1"][e]
                    h = h * 0.5 * (1 + np.vectorize(math.erf)(h / math.sqrt(2)))
                    want[n, t] += c["chosen"] * w * (h @ p["w2"][e] + p["b2"][e])
            z = np.mean(np.log(np.exp(logits).sum(-1)) ** 2)
            total += 0.01 * c["experts"] * np.sum(f * probability.mean(0)) + 0.001 * z
        self.assertGreater(dropped, 0)
        np.testing.assert_allclose(got.numpy(), want, atol=1e-4)
        self.assertAlmostEqual(float(aux), total / c["batch"], places=5)


if __name__ == "__main__":
    unittest.main()
