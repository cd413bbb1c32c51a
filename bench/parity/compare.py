"""Measures how far two runs are apart, and says where that is too far.

Every comparison is written so that a NaN is a failure.
"""

import numpy as np


class Tolerance:
    """The largest differences allowed: of a step's loss, of a gradient tensor
    (in the Euclidean norm), of a step's global gradient norm and of its
    learning rate, each relative to the reference; and of the last parameters,
    relative to how far training moved them."""

    def __init__(self, loss, grad, norm, params, lr=1e-5):
        self.loss, self.grad, self.norm, self.params, self.lr = loss, grad, norm, params, lr


def relative(got, want):
    """|got - want| / |want|, elementwise for sequences of scalars."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    return np.abs(got - want) / np.maximum(np.abs(want), 1e-30)


def tensor_errors(got, want):
    """By name, |got - want| / |want| in the Euclidean norm of a tensor."""
    out = {}
    for name, w in want.items():
        g, w = np.asarray(got[name], np.float64), np.asarray(w, np.float64)
        out[name] = float(np.linalg.norm(g - w) / max(np.linalg.norm(w), 1e-30))
    return out


def same_tensors(got, want, what):
    """Problems in the names and shapes of `got` where `want` maps name to
    shape."""
    problems = [f"{what}: {n} is missing" for n in sorted(want.keys() - got.keys())]
    problems += [f"{what}: {n} is unknown to the reference" for n in sorted(got.keys() - want.keys())]
    for n in sorted(want.keys() & got.keys()):
        if got[n].shape != tuple(want[n]):
            problems.append(f"{what}: {n} has shape {got[n].shape}, the reference {tuple(want[n])}")
    return problems


class Result:
    """Largest differences, in the units of Tolerance, and the problems."""

    def __init__(self):
        self.loss = self.grad = self.norm = self.params = self.lr = float("nan")
        self.problems = []

    def exceeds(self, what, value, limit):
        if not value <= limit:
            self.problems.append(f"{what}: {value:.2e} is more than {limit:.0e}")


def worst(values):
    """The largest value, NaN above all, with its index."""
    values = np.asarray(values, np.float64)
    i = int(np.argmax(values))  # a NaN counts as the largest
    return float(values[i]), i


def compare(got, want, init, tol):
    """Compares two Traces that started from the same `init`."""
    r = Result()
    for name in ("loss", "grad_norm", "lr"):
        if len(getattr(got, name)) != len(getattr(want, name)):
            r.problems.append(f"{len(getattr(got, name))} values of {name}, not {len(getattr(want, name))}")
    shapes = {k: v.shape for k, v in want.grads.items()}
    r.problems += same_tensors(got.grads, shapes, "gradients") + same_tensors(got.params, shapes, "parameters")
    if r.problems:
        return r
    r.loss, i = worst(relative(got.loss, want.loss))
    r.exceeds(f"loss of step {i + 1}", r.loss, tol.loss)
    r.norm, i = worst(relative(got.grad_norm, want.grad_norm))
    r.exceeds(f"gradient norm of step {i + 1}", r.norm, tol.norm)
    r.lr, i = worst(relative(got.lr, want.lr))
    r.exceeds(f"learning rate of step {i + 1}", r.lr, tol.lr)
    errors = tensor_errors(got.grads, want.grads)
    r.grad, _ = worst(list(errors.values()))
    for name, e in sorted(errors.items()):
        r.exceeds(f"first gradient of {name}", e, tol.grad)
    moved = {k: w - np.asarray(init[k], w.dtype) for k, w in want.params.items()}
    errors = {
        k: float(np.linalg.norm(got.params[k].astype(np.float64) - w) / max(np.linalg.norm(moved[k]), 1e-30))
        for k, w in want.params.items()
    }
    r.params, _ = worst(list(errors.values()))
    for name, e in sorted(errors.items()):
        r.exceeds(f"last value of {name}", e, tol.params)
    return r


def initial_problems(params, specs):
    """Whether initial parameters have the names, shapes and distributions that
    the model declares. A sample standard deviation of n values scatters by
    1/sqrt(2n) of itself and a mean by std/sqrt(n); 5 of these are allowed."""
    problems = same_tensors(params, {k: s.shape for k, s in specs.items()}, "initial parameters")
    if problems:
        return problems
    for name, s in sorted(specs.items()):
        v = params[name].astype(np.float64)
        if s.std == 0:
            if not np.all(v == s.mean):
                problems.append(f"initial {name} is not {s.mean} everywhere")
            continue
        if not abs(v.mean() - s.mean) <= 5 * s.std / v.size**0.5:
            problems.append(f"initial {name} has mean {v.mean():.3g}, not {s.mean:.3g}")
        if not abs(v.std() - s.std) <= 5 * s.std / (2 * v.size) ** 0.5:
            problems.append(f"initial {name} has standard deviation {v.std():.4g}, not {s.std:.4g}")
    return problems
