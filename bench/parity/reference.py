"""Trains a model of models.py and keeps what is compared."""

import jax
import jax.numpy as jnp
import numpy as np
import optax


class Trace:
    """What a run leaves: `loss`, `grad_norm` (before clipping) and `lr` of each
    step, the gradients of the first step, and the parameters at the end."""

    def __init__(self, steps, grads, params):
        self.loss = [s["loss"] for s in steps]
        self.grad_norm = [s["grad_norm"] for s in steps]
        self.lr = [s["lr"] for s in steps]
        self.grads, self.params = grads, params


# Precision by name: the dtype of parameters and arithmetic, and that of what
# contractions read.
PRECISIONS = {
    "f64": (jnp.float64, jnp.float64),
    "f32": (jnp.float32, jnp.float32),
    "bf16": (jnp.float32, jnp.bfloat16),
}


def train(model, config, init, batches, precision):
    """Runs one step for each batch (tokens, targets) from the parameters
    `init` and returns its Trace."""
    dtype, contract = PRECISIONS[precision]
    optimizer = model.optimizer(config)

    @jax.jit
    def step(params, state, tokens, targets):
        loss, grads = jax.value_and_grad(model.loss)(params, tokens, targets, config, contract)
        updates, state = optimizer.update(grads, state, params)
        norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in grads.values()))
        return optax.apply_updates(params, updates), state, loss, grads, norm

    params = {k: jnp.asarray(v, dtype) for k, v in init.items()}
    state = optimizer.init(params)
    rate = model.learning_rate(config)
    steps, first = [], None
    for i, (tokens, targets) in enumerate(batches):
        params, state, loss, grads, norm = step(params, state, tokens, targets)
        steps.append({"loss": float(loss), "grad_norm": float(norm), "lr": float(rate(i))})
        if first is None:
            first = {k: np.asarray(g) for k, g in grads.items()}
    return Trace(steps, first, {k: np.asarray(p) for k, p in params.items()})
