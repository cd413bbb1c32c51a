"""What the checks of all software share: a run of ptc, and what a script would launch."""
import pathlib
import shlex
import subprocess
import sys

here = pathlib.Path(__file__).parent
ptc, sources, work = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve()


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, **options)


def launched(script, folder=work):
    """The last command line that a script would launch in a folder: its launcher is one that writes its words."""
    bin = work / "bin"
    bin.mkdir(exist_ok=True)
    for name in ("torchrun", "deepspeed", "srun", "python", "python3"):
        (bin / name).write_text('#!/bin/sh\nfor w in "$@"; do printf "%s\\0" "$w" >>"$LAUNCHED"; done\n')
        (bin / name).chmod(0o755)
    out = work / "launched"
    out.unlink(missing_ok=True)
    env = {"PATH": f"{bin}:/usr/bin:/bin", "LAUNCHED": str(out), "HOME": str(work)}
    for arguments in (["a", "b", "c", "d", "e"], []):
        try:
            subprocess.run(["bash", str(script), *arguments], capture_output=True, cwd=folder, env=env, timeout=20)
        except subprocess.TimeoutExpired:
            return []
        if out.exists():
            break
    words = out.read_text().split("\0")[:-1] if out.exists() else []
    at = max((i for i, w in enumerate(words) if w.endswith(".py")), default=None)
    if at is None:
        return []
    flag = next((i for i in range(at + 1, len(words)) if words[i].startswith("--")), len(words))
    return words[flag:]  # without the arguments that the script was given


def value(args, flag, otherwise):
    for i, a in enumerate(args):
        if a == flag and i + 1 < len(args):
            return int(args[i + 1])
        if a.startswith(flag + "="):
            return int(a.split("=", 1)[1])
    return otherwise


def devices(args):
    """As many as two replicas of the model need, or one where the batch allows no more."""
    tp, pp, cp = (value(args, f"--{x}-parallel-size", 1) for x in ("tensor-model", "pipeline-model", "context"))
    ep, micro = value(args, "--expert-model-parallel-size", 1), value(args, "--micro-batch-size", 1)
    replicas = max(ep, value(args, "--num-distributed-optimizer-instances", 1))
    batch = value(args, "--global-batch-size", 2 * micro * replicas)
    if batch % (2 * micro * replicas) == 0:
        replicas *= 2
    return tp * pp * cp * replicas


def with_vocabulary(args):
    """Files of tokenizers are not there: their size is given."""
    if not any(a.split("=")[0] == "--vocab-size" for a in args):
        args = args + ["--vocab-size", "32000"]
    return args


def flags_of(text):
    return shlex.split(text.replace("\\\n", " "))
