"""A training step in JAX: the models of bench/parity, jitted as one function
whose parameters and optimizer state are donated."""

import os
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import optax

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "parity"))

import models
from models import MODELS

VERSION = "JAX " + jax.__version__


def memory():
    """Bytes of memory that the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def by_head(attention):
    """An attention that has the scores of one head of queries at a time, and makes them again on
    the way back. (XLA for CPUs keeps what jax.checkpoint alone would make again.)"""

    def heads(q, k, v, contract):
        group = q.shape[2] // k.shape[2]
        each = [jnp.moveaxis(jnp.repeat(x, n, axis=2), 2, 0)[:, :, :, None] for x, n in ((q, 1), (k, group), (v, group))]
        one = jax.checkpoint(lambda x: attention(*x, contract), prevent_cse=False)
        return jnp.moveaxis(jax.lax.map(one, tuple(each))[:, :, :, 0], 0, 2)

    return heads


class Peer:
    def __init__(self, spec, params):
        c, model = spec["config"], MODELS[spec["model"]]
        contract = jnp.bfloat16 if spec["bf16"] else jnp.float32
        optimizer = model.optimizer(c)

        def step(params, state, tokens, targets):
            loss, grads = jax.value_and_grad(model.loss)(params, tokens, targets, c, contract)
            updates, state = optimizer.update(grads, state, params)
            return optax.apply_updates(params, updates), state, loss

        self.params = {k: jnp.asarray(v) for k, v in params.items()}
        self.state = optimizer.init(self.params)
        self.jitted = jax.jit(step, donate_argnums=(0, 1))

    def compile(self, tokens, targets):
        """Seconds to compile the step."""
        seconds = self._compile(tokens, targets)
        if self.compiled.memory_analysis().temp_size_in_bytes > 0.8 * memory():
            # Scores of all layers and heads do not fit at once.
            models.attention = by_head(models.attention)
            jax.clear_caches()
            seconds = self._compile(tokens, targets)
        return seconds

    def _compile(self, tokens, targets):
        start = time.perf_counter()
        self.compiled = self.jitted.lower(self.params, self.state, tokens, targets).compile()
        return time.perf_counter() - start

    def step(self, tokens, targets):
        self.params, self.state, loss = self.compiled(self.params, self.state, tokens, targets)
        return float(loss)
