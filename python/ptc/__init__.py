"""Compiles models with ptc, trains them, and reads what was trained.

The command does the work, in a process of its own; what it says comes back as
JSON. ``load`` takes numpy, and nothing else does. Keywords are flags of the command,
so that its help is the reference: ``ptc.command("help", "run")``.

    import ptc
    plan = ptc.compile("model.ptl", set={"steps": 20})
    ptc.run(plan, checkpoint="ckpt", save="trained.safetensors", progress=True)
    ptc.eval(plan, checkpoint="ckpt")["loss"]
    ptc.sample(plan, "once", checkpoint="ckpt")["text"]
    weights = ptc.load("trained.safetensors")
    ptc.report(plan)
"""

from . import data
from ._call import Error, Notice, binary
from ._commands import command, compile, eval, explain, export, import_, report, sample, version
from ._report import Report
from ._run import Run, run
from ._tensors import checkpoint, load

__all__ = ["Error", "Notice", "Report", "Run", "binary", "checkpoint", "command", "compile", "data", "eval", "explain",
           "export", "import_", "load", "report", "run", "sample", "version"]
