"""Trains the examples with ptc and with JAX from the same parameters on the
same batches, and compares. README.md says what is compared and how closely.

Exit status: 0 all cases agree, 1 one does not, 2 nothing could be compared.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

import tensorfile
from compare import Tolerance, compare, initial_problems, relative, tensor_errors
from models import FIXED, MODELS
from reference import Trace, train

SEED = 7  # of ptc's data order and initial parameters
STEPS = 20

# f32 and f32 differ by the order of sums. In the last parameters the differences
# are larger than in gradients: where |g| is near the rounding of its sum, AdamW
# divides it by its own size.
F32 = Tolerance(loss=1e-4, grad=1e-4, norm=1e-3, params=1e-3)

# bf16 has 8 bits: a rounded value is off by up to 2^-9 = 0.2%, and several are
# rounded on the way to a gradient. What is compared with is the reference in
# f32. The warm-up is long, because steps with a high rate multiply differences
# until two runs say nothing about each other.
BF16 = Tolerance(loss=1e-3, grad=3e-2, norm=2e-2, params=5e-2)
CALM = dict(steps=500, warmup=50)

BF16_LAYOUT = """
layout parity_bf16 {
  precision { compute = bf16  params = f32  reduce = f32 }
}
"""

ODD = dict(layers=3, batch=3, seq=37, embed=40, heads=5, head=8, ffn=100)


class Case:
    def __init__(self, name, model, sizes=None, tol=F32, bf16=False, target=None, own_init=False):
        self.name, self.model, self.tol = name, MODELS[model], tol
        self.source = model
        self.config = dict(self.model.config, **(sizes or {}))
        self.bf16, self.target, self.own_init = bf16, target, own_init
        self.yardstick = "bf16" if bf16 else "f64"


CASES = [
    Case("gpt", "gpt", own_init=True),
    Case("llama", "llama", own_init=True),
    Case("mlp", "mlp", own_init=True),
    # Sizes that no vector width or tile divides, and parameters that make
    # gains, shifts and biases matter.
    Case("gpt-odd", "gpt", ODD),
    Case("llama-odd", "llama", dict(ODD, heads=6, kv=2)),
    Case("gpt-bf16", "gpt", CALM, tol=BF16, bf16=True),
    Case("llama-bf16", "llama", CALM, tol=BF16, bf16=True),
    # The backend that needs nothing installed.
    Case("gpt-ref", "gpt", dict(layers=2, batch=2, seq=16, embed=32, heads=2, head=16, ffn=64), target="ref"),
    Case("llama-ref", "llama", dict(layers=2, batch=2, seq=16, embed=32, head=8, ffn=48), target="ref"),
]


# What the table shows of a Result, and its titles.
COLUMNS = {"loss": "losses", "grad": "first gradients", "norm": "gradient norms", "params": "last parameters"}


class Failed(Exception):
    """ptc ended with an error, or left out what it was asked for."""


def ptc(binary, *args):
    p = subprocess.run([binary, *args], capture_output=True, text=True)
    if p.returncode != 0:
        raise Failed(f"ptc {' '.join(args)}: exit status {p.returncode}\n{(p.stderr or p.stdout).strip()[-3000:]}")
    return p.stdout


def compile_case(case, binary, root, folder, name, **changes):
    """Compiles the case, with changes to its config, to a plan of this name."""
    source = os.path.join(root, "examples", case.source, case.source + ".ptl")
    plan = os.path.join(folder, name)
    args = ["compile", source, "-o", plan]
    if case.bf16:
        with open(source) as f:
            text = f.read()
        args[1] = os.path.join(folder, case.source + ".ptl")
        with open(args[1], "w") as f:
            f.write(text + BF16_LAYOUT)
        args += ["--layout", "parity_bf16"]
    if case.target:
        args += ["--target", case.target]
    for k, v in {**case.config, **changes}.items():
        if k not in FIXED.get(case.source, ()):
            args += ["--set", f"{k}={v}"]
    ptc(binary, *args)
    return plan


def random_init(specs, seed):
    """Parameters in which none is special: of the declared spread where there
    is one, and of spread 0.1 around the declared mean elsewhere."""
    rng = np.random.default_rng(seed)
    return {
        k: (s.mean + (s.std or 0.1) * rng.standard_normal(s.shape)).astype(np.float32) for k, s in sorted(specs.items())
    }


def initial(case, binary, root, folder):
    """The file both sides start from, its tensors, and what is wrong with
    them. ptc's own initial values are what a step at rate 0 leaves."""
    specs = case.model.specs(case.config)
    path = os.path.join(folder, "init.safetensors")
    if not case.own_init:
        values = random_init(specs, SEED)
        tensorfile.save(path, values)
        return path, values, []
    still = compile_case(case, binary, root, folder, "still.bin", lr=0.0)
    ptc(binary, "run", still, "--steps", "1", "--seed", str(SEED), "--save", path)
    values = tensorfile.load(path)
    return path, values, initial_problems(values, specs)


def run_ptc(case, binary, plan, init, folder):
    """The target that the plan is for, the Trace of ptc, and the batches that
    it was fed."""
    f = {k: os.path.join(folder, k + ".safetensors") for k in ("batches", "grads", "last")}
    out = ptc(
        binary, "run", plan, "--steps", str(STEPS), "--seed", str(SEED), "--log", "json", "--init", init,
        "--dump-batches", f["batches"], "--dump-grads", f["grads"], "--save", f["last"],
    )  # fmt: skip
    events = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    start, steps, end = ([e for e in events if e["event"] == k] for k in ("start", "step", "end"))
    if [e["step"] for e in steps] != list(range(1, STEPS + 1)):
        raise Failed(f"{case.name}: steps {[e['step'] for e in steps]}, not 1 to {STEPS}")
    if len(start) != 1 or len(end) != 1 or (end[0]["steps"], end[0]["loss"]) != (STEPS, steps[-1]["loss"]):
        raise Failed(f"{case.name}: starts with {start} and ends with {end}")
    fed = tensorfile.load(f["batches"])
    batches = [(fed.pop(f"step.{i}.tokens"), fed.pop(f"step.{i}.targets")) for i in range(1, STEPS + 1)]
    if fed:
        raise Failed(f"{case.name}: batches of no step: {sorted(fed)}")
    check_batches(case, batches)
    trace = Trace(steps, tensorfile.load(f["grads"]), tensorfile.load(f["last"]))
    return start[0]["target"], trace, batches


def check_batches(case, batches):
    """Batches are what the source says: right shapes, bytes, targets one
    further than tokens, and no two steps alike."""
    c = case.config
    for i, (tokens, targets) in enumerate(batches):
        last = case.source == "mlp"
        if tokens.shape != (c["batch"], c["seq"]) or targets.shape != tokens.shape[: 1 if last else 2]:
            raise Failed(f"{case.name}: batch {i + 1} has shapes {tokens.shape} and {targets.shape}")
        if min(tokens.min(), targets.min()) < 0 or max(tokens.max(), targets.max()) >= c["vocab"]:
            raise Failed(f"{case.name}: batch {i + 1} has tokens outside of the vocabulary")
        if not last and not np.array_equal(tokens[:, 1:], targets[:, :-1]):
            raise Failed(f"{case.name}: in batch {i + 1} targets are not the successors of tokens")
    if len({t.tobytes() for t, _ in batches}) != len(batches):
        raise Failed(f"{case.name}: two steps were fed the same")


def detail(case, got, want, other):
    """The losses of every step and the farthest gradients."""
    if got.grads.keys() != want.grads.keys() or len(got.loss) != len(want.loss):
        return
    jax2, apart = "jax " + case.yardstick, "jax-jax"
    print(f"\n  {'step':>4} {'ptc':>12} {'jax f32':>12} {jax2:>12} {'ptc-jax':>9} {apart:>9}")
    for i, (g, w, o) in enumerate(zip(got.loss, want.loss, other.loss)):
        print(f"  {i + 1:>4} {g:12.7f} {w:12.7f} {o:12.7f} {relative(g, w):9.1e} {relative(o, w):9.1e}")
    far, own = tensor_errors(got.grads, want.grads), tensor_errors(other.grads, want.grads)
    print(f"  first gradients, farthest first: {'ptc-jax':>17} {apart:>9}")
    for name in sorted(far, key=lambda n: -far[n])[:8]:
        print(f"    {name:38} {far[name]:15.1e} {own[name]:9.1e}")
    print()


def run_case(case, binary, root, verbose):
    """Prints one line of the table, and returns the problems."""
    with tempfile.TemporaryDirectory(prefix="ptc-parity-") as folder:
        path, init, problems = initial(case, binary, root, folder)
        if problems:
            print(f"{case.name:10}  DIFFERS  in its initial parameters")
            return problems
        plan = compile_case(case, binary, root, folder, "plan.bin")
        target, got, batches = run_ptc(case, binary, plan, path, folder)
    # The reference in another precision is a yardstick for the differences.
    want, other = (train(case.model, case.config, init, batches, p) for p in ("f32", case.yardstick))
    r, yard = compare(got, want, init, case.tol), compare(other, want, init, case.tol)
    verdict = "DIFFERS" if r.problems else "agrees"
    columns = "".join(f"  {getattr(r, f):7.1e} ({getattr(yard, f):.0e})" for f in COLUMNS)
    print(f"{case.name:10}  {verdict:7}  {target:26}  {got.loss[0]:.3f} to {got.loss[-1]:.3f}{columns}", flush=True)
    if verbose or r.problems:
        detail(case, got, want, other)
    return r.problems


def heading():
    print(f"ptc and JAX {jax.__version__}: {STEPS} steps from the same parameters on the same batches.")
    print("Largest relative differences, and in parentheses those between JAX in f32 and JAX in f64,")
    print("or in bf16 for the cases in bf16. Allowed:")
    for name, t in (("f32", F32), ("bf16", BF16)):
        print(f"  {name:5}" + ", ".join(f"{COLUMNS[f]} {getattr(t, f):.0e}" for f in COLUMNS))
    titles = "".join(f"  {t:15}" for t in COLUMNS.values())
    print(f"\n{'case':10}  {'':7}  {'target':26}  {'loss':14}" + titles.rstrip(), flush=True)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(here))
    a = argparse.ArgumentParser(description="Compare training by ptc with training by JAX.")
    a.add_argument("--ptc", default=os.path.join(root, "bin", "ptc"), help="the binary to test")
    a.add_argument("--verbose", action="store_true", help="print every step of every case")
    a.add_argument("cases", nargs="*", metavar="CASE", help="of " + ", ".join(c.name for c in CASES) + "; default: all")
    args = a.parse_args()
    unknown = set(args.cases) - {c.name for c in CASES}
    if unknown:
        a.error(f"no such case: {', '.join(sorted(unknown))}")
    if not os.access(args.ptc, os.X_OK):
        print(f"{args.ptc} is not there; `make build` makes it", file=sys.stderr)
        return 2
    heading()
    failed = 0
    for case in CASES:
        if args.cases and case.name not in args.cases:
            continue
        try:
            problems = run_case(case, args.ptc, root, args.verbose)
        except (Failed, ValueError, KeyError, OSError) as e:
            print(f"{case.name:10}  FAILED")
            problems = [f"{type(e).__name__}: {e}"]
        for p in problems:
            print(f"  {p}")
        failed += bool(problems)
    print("all cases agree" if not failed else f"{failed} cases differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
