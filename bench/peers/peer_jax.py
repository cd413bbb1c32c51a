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

from models import MODELS

VERSION = "JAX " + jax.__version__


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
        start = time.perf_counter()
        self.compiled = self.jitted.lower(self.params, self.state, tokens, targets).compile()
        return time.perf_counter() - start

    def step(self, tokens, targets):
        self.params, self.state, loss = self.compiled(self.params, self.state, tokens, targets)
        return float(loss)
