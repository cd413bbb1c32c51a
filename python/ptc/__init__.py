"""Compiles models with ptc, trains them, and reads what was trained.

The command does the work, in a process of its own; what it says comes back as
JSON. ``load`` takes numpy, and nothing else does.

    import ptc
    plan = ptc.compile("model.ptl", set={"steps": 20})
    for event in ptc.run(plan, save="trained.safetensors"):
        print(event)
    weights = ptc.load("trained.safetensors")
"""

from ._command import Error, binary, compile, explain, run, version
from ._tensors import checkpoint, load

__all__ = ["Error", "binary", "checkpoint", "compile", "explain", "load", "run", "version"]
