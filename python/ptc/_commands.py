"""A function for each command, over one call."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, List, Optional, Sequence, Union

from . import _call
from ._report import Report

Path = Union[str, "os.PathLike[str]"]


def command(name: str, *arguments: Any, **flags: Any) -> Any:
    """Runs any command of ptc, and gives what it printed: text, or with ``json=True`` its
    value. Keywords are flags, by one rule: ``eval_every=5`` is --eval-every=5, True is a flag
    alone, a list gives it again, a dictionary gives it as key=value, a name that Python
    reserves ends in an underscore.

    >>> ptc.command("doctor", json=True)
    >>> ptc.command("fmt", "model.ptl")
    """
    text = _call.call(name, arguments, flags)
    return json.loads(text) if flags.get("json") else text


def version() -> str:
    """The line of "ptc version"."""
    return str(command("version")).strip()


def compile(source: Path, output: Optional[Path] = None, **flags: Any) -> str:
    """Compiles a source to the plan ``output``, by default its name with .bin in the current
    folder, and gives the path. Keywords are the flags of "ptc compile": ``layout="single"``,
    ``target="ref"``, ``set={"layers": 2}``, ``port=["lr"]``.

    >>> ptc.compile("model.ptl", set={"steps": 20})
    'model.bin'
    """
    if output is None:
        output = os.path.splitext(os.path.basename(os.fspath(source)))[0] + ".bin"
    command("compile", source, output=output, **flags)
    return os.fspath(output)


def explain(plan: Path) -> Dict[str, Any]:
    """What a plan does, as "ptc explain --json" has it.

    >>> ptc.explain("model.bin")["target"]
    'cpu:x86-64-v3'
    """
    return dict(command("explain", plan, json=True))


def eval(plan: Path, **flags: Any) -> Dict[str, Any]:
    """The mean loss over data, as "ptc eval --json" has it: ``loss``, ``perplexity``, ``tokens``,
    ``windows``, and ``files`` with ``per_file=True``.

    >>> ptc.eval("model.bin", checkpoint="ckpt", data=["test/*.txt"])["perplexity"]
    """
    return dict(command("eval", plan, json=True, **flags))


def sample(plan: Path, prompt: Union[str, Sequence[int], Sequence[str], None] = None, **flags: Any) -> Any:
    """Continues a prompt: a dictionary with ``tokens``, and ``text`` where the plan's data has
    a tokenizer. A prompt is a text or a list of tokens; a list of texts gives a list.
    Keywords are the flags of "ptc sample": ``max_tokens=50``, ``greedy=True``, ``top_p=0.9``.

    >>> ptc.sample("model.bin", "func main", init="trained.safetensors", seed=7)["text"]
    >>> [c["text"] for c in ptc.sample("model.bin", ["one", "two"], checkpoint="ckpt")]
    """
    stdin = ""
    if isinstance(prompt, str):
        flags["prompt"] = prompt
    elif prompt is not None and len(prompt) and isinstance(prompt[0], str):
        texts = [str(p) for p in prompt]
        if any("\n" in p or "\r" in p for p in texts):
            raise ValueError("one of several prompts has more than one line: give it alone")
        flags["prompts"], stdin = "-", "".join(p + "\n" for p in texts)
    elif prompt is not None:
        flags["prompt_ids"] = ",".join(str(int(i)) for i in prompt)
    return json.loads(_call.call("sample", [plan], {**flags, "json": True}, stdin))


def import_(folder: Path, output: Path, **flags: Any) -> str:
    """Takes over a model that transformers wrote, as the new folder ``output`` with model.ptl
    and init.safetensors, and gives its path.

    >>> llama = ptc.import_("Llama-3.2-1B", "llama")
    >>> plan = ptc.compile(llama + "/model.ptl", set={"corpus": "tokens/*.bin"})
    >>> ptc.run(plan, init=llama + "/init.safetensors", steps=100, progress=True)
    """
    command("import", folder, output=output, **flags)
    return os.fspath(output)


def export(checkpoint: Path, output: Path, *, plan: Path, **flags: Any) -> str:
    """Writes parameters for other programs, and gives the path. Keywords are the flags of
    "ptc export": ``format="gguf"``, ``dtype="bf16"``, ``max_shard_size="2GB"``.

    >>> ptc.export("ckpt", "llama-tuned", plan="llama.bin", dtype="bf16")
    'llama-tuned'
    """
    command("export", checkpoint, plan=plan, output=output, **flags)
    return os.fspath(output)


def report(plan: Path, output: Optional[Path] = None, *, height: int = 800, **flags: Any) -> Report:
    """The page that shows a plan; a notebook shows it inline, ``height`` pixels high. With
    ``output`` it is written there as well. Keywords are the flags of "ptc report":
    ``compare="other.bin"``, ``profile="profile.json"``.

    >>> ptc.report("model.bin")
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.html") if output is None else os.fspath(output)
        command("report", plan, output=path, **flags)
        with open(path, encoding="utf-8", newline="") as file:
            return Report(file.read(), height)


def files(patterns: Union[Path, Sequence[Path]]) -> List[Path]:
    """One path or pattern, or several."""
    return [patterns] if isinstance(patterns, (str, os.PathLike)) else list(patterns)
