"""Measures ptc and others on the same workloads, in turns. README.md says how.

Exit status: 0 all was measured, 1 a loss differs or a workload failed, 2 nothing
could be measured, 130 interrupted; what was finished before is kept.
"""

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

import gemm
import results
import selfmeasure
import workloads
from ptc import Failed, Plan, run

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VERIFIED = 3  # steps whose losses are compared

# f32 against f32 differs by the order of sums; bf16 rounds what products read.
# llm.c has another gelu (tanh), and does not clip.
TOLERANCE = {"f32": 2e-4, "bf16": 1e-2, "llmc": 5e-3}


def arguments():
    a = argparse.ArgumentParser(prog="run.sh", description="Compare ptc with JAX, PyTorch, llm.c and BLAS libraries on this machine.")
    a.add_argument("--only", metavar="REGEX", default="", help="measure the workloads whose name, or name/peer, matches")
    a.add_argument("--quick", action="store_true", help="small sizes and two short rounds: to see that it works")
    a.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of every process (default: all)")
    a.add_argument("--rounds", type=int, help="turns of each pair (default 5)")
    a.add_argument("--seconds", type=float, help="of steps in a turn (default 8)")
    a.add_argument("--fresh", action="store_true", help="forget what was measured before")
    a.add_argument("--keep", action="store_true", help="take what was measured with another build of ptc as well")
    a.add_argument("--list", action="store_true", help="list the workloads")
    a.add_argument("--output", default=os.path.join(ROOT, "bench", "results.json"), help="the results (default bench/results.json)")
    a.add_argument("--document", default=os.path.join(ROOT, "docs", "performance.md"), help="where the table goes")
    a.add_argument("--ptc", default=os.path.join(ROOT, "bin", "ptc"), help=argparse.SUPPRESS)
    a.add_argument("--dir", default=os.path.join(tempfile.gettempdir(), "ptc-peers"), help=argparse.SUPPRESS)
    args = a.parse_args()
    args.rounds = args.rounds or (2 if args.quick else 5)
    args.seconds = args.seconds or (0.3 if args.quick else 8)
    if args.threads < 1 or args.rounds < 1:
        a.error("--threads and --rounds are at least 1")
    try:
        args.only = re.compile(args.only)
    except re.error as e:
        a.error(f"--only: {e}")
    if args.quick:  # these numbers are for nobody
        args.output = os.path.join(args.dir, "quick-results.json")
        args.document = None
    return args


def jobs():
    """What there is to do, as (workload or None, name, peer)."""
    out = [(w, w.name, p) for w in workloads.workloads() for p in w.peers]
    return out + [(None, "gemm", "libraries"), (None, "self", "ptc")]


class State:
    """Results by job, kept in a folder. They hold for one build of ptc and
    one way to measure."""

    def __init__(self, folder, args):
        self.folder = os.path.join(folder, "done")
        h = hashlib.sha256(b"" if args.keep else open(args.ptc, "rb").read())
        h.update(f"{args.threads} {args.quick} {args.rounds} {args.seconds}".encode())
        self.key = h.hexdigest()[:16] if not args.keep else None
        self.suffix = ("quick" if args.quick else "full") + f"-{args.threads}"
        if args.fresh:
            shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder, exist_ok=True)

    def path(self, name, peer):
        return os.path.join(self.folder, f"{name}.{peer}.{self.suffix}.json")

    def load(self, name, peer):
        try:
            with open(self.path(name, peer)) as f:
                x = json.load(f)
        except (OSError, ValueError):
            return None
        return x["result"] if self.key is None or x["key"] == self.key else None

    def save(self, name, peer, result, key):
        results.write(self.path(name, peer), json.dumps({"key": key, "result": result}))


class Worker:
    """A peer's process."""

    def __init__(self, spec, folder):
        path = os.path.join(folder, "spec.json")
        with open(path, "w") as f:
            json.dump(spec, f)
        n = str(spec["threads"])
        env = dict(os.environ, OMP_NUM_THREADS=n, MKL_NUM_THREADS=n, TORCHINDUCTOR_CACHE_DIR=os.path.join(folder, "inductor"))
        self.log = open(os.path.join(folder, "worker.log"), "w+")
        self.p = subprocess.Popen([sys.executable, os.path.join(HERE, "worker.py"), path], env=env, text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)  # fmt: skip

    def hear(self):
        line = self.p.stdout.readline()
        if not line:
            self.p.wait()
            self.log.seek(0)
            raise Failed(f"the peer ended with {self.p.returncode}: {self.log.read().strip()[-1500:]}")
        return json.loads(line)

    def run(self, n):
        self.p.stdin.write(f"run {n}\n")
        self.p.stdin.flush()
        return self.hear()

    def close(self):
        self.p.kill()
        self.p.wait()
        self.log.close()


def progress(text):
    print(text, file=sys.stderr, flush=True)


def turns(estimate, seconds):
    """Steps of a turn, and those before that warm up."""
    return min(max(int(seconds / max(estimate, 1e-6)), 3), 2000), 1 if estimate > 2 else 3


def measure(args, w, peer, said):
    """The rows of a workload with a peer, and what has to be said of it."""
    import numpy as np

    sys.path.append(os.path.join(ROOT, "bench", "parity"))
    import tensorfile

    if args.quick:
        w = workloads.quick(w)
    with tempfile.TemporaryDirectory(prefix="measure-", dir=args.dir) as folder:
        specs = specs_of(w)
        rng = np.random.default_rng(7)
        init, batches = os.path.join(folder, "init.safetensors"), os.path.join(folder, "batches.safetensors")
        tensorfile.save(init, {k: (s.mean + s.std * rng.standard_normal(s.shape, np.float32)).astype(np.float32) for k, s in sorted(specs.items())})
        said("compiling")
        plan = Plan(args.ptc, ROOT, folder, w, args.threads)
        losses = plan.dump(init, batches, VERIFIED)
        spec = dict(peer=peer, model=w.model, config=w.config, bf16=w.bf16, threads=args.threads, init=init, batches=batches, steps=VERIFIED)
        worker = Worker(spec, folder)
        try:
            said(f"{peer} compiles and runs {VERIFIED} steps")
            first = worker.hear()
            tolerance = TOLERANCE.get(peer, TOLERANCE["bf16" if w.bf16 else "f32"])
            problems = results.close(first["losses"], losses, tolerance)
            if problems:
                raise Failed("; ".join(problems))
            estimate = statistics.median(plan.steps(init, 2, 1)[0])
            count, warm = turns(estimate, args.seconds)
            theirs_count = turns(statistics.median(worker.run(2)["seconds"]), args.seconds)[0]
            ours, theirs, memory, peak = [], [], [], 0
            for i in range(args.rounds):
                said(f"round {i + 1} of {args.rounds}, {count} and {theirs_count} steps")
                seconds, most = plan.steps(init, count, warm)
                ours.append(w.tokens / statistics.median(seconds))
                memory.append(most)
                r = worker.run(theirs_count)
                theirs.append(w.tokens / statistics.median(r["seconds"]))
                peak = r["peak_bytes"]
        finally:
            worker.close()
    rows = [results.row(w.name, args.threads, peer, "tokens_per_s", ours, theirs),
            results.row(w.name, args.threads, peer, "peak_bytes", [max(memory)], [peak])]  # fmt: skip
    if first["compile_s"] is not None:
        rows.append(results.row(w.name, args.threads, peer, "compile_s", [plan.compile_s], [first["compile_s"]]))
    return {"rows": rows, "version": first["version"]}


def specs_of(w):
    if w.model == "moe":
        return workloads.moe_specs(w.config)
    # The specs of the others are where their models are, which import JAX.
    from models import MODELS

    return MODELS[w.model].specs(w.config)


def features(args):
    """What the processor has of bf16, by LLVM's names."""
    have = set(json.loads(run(args.ptc, "doctor", "--json"))["cpu"]["features"])
    try:
        with open("/proc/cpuinfo") as f:
            have |= {"amx-bf16"} if "amx_bf16" in f.read() else set()
    except OSError:
        pass
    return sorted(have & {"avx512bf16", "bf16", "amx-bf16"})


def missing(peer, w, flags):
    """Why a job cannot be done here; None where it can."""
    if w is not None and w.bf16 and not flags:
        return "this machine has no instructions for bf16"
    if peer == "torch-compile" and not (shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")):
        return "torch.compile needs a C++ compiler"
    if peer == "llmc":
        import peer_llmc

        return peer_llmc.missing()
    return None


def machine(args):
    c = json.loads(run(args.ptc, "bench", "--threads", "1", "--json"))
    return f"{c['cpu'] or platform.machine()}, {os.cpu_count()} processors, {c['target']}, LLVM {c['llvm']}"


def assemble(args, state, flags, name, notes):
    """Writes the results of all that is done."""
    rows, others, versions, own = [], [], set(), {}
    for _, workload, peer in jobs():
        x = state.load(workload, peer)
        if x is None:
            continue
        (others if peer == "llmc" else rows).extend(x.get("rows", []))
        own.update(x.get("self", {}))
        notes = notes + x.get("notes", [])
        versions |= {x["version"]} if x.get("version") else set()
    gflops = [r["ratio"] for r in rows if r["metric"] == "gflops"]
    if own or gflops:
        own["gemm_geomean_vs_best"] = results.geometric_mean(gflops) if gflops else None
    out = {"machine": name, "flags": flags, "versions": sorted(versions), "rows": rows, "self": own, "others": others, "notes": notes}
    results.write(args.output, results.text_of(out))
    if args.document and rows + others:
        with open(args.document) as f:
            text = f.read()
        results.write(args.document, results.place(text, results.table(out)))
    return out


def main():
    args = arguments()
    if args.list:
        for _, name, peer in jobs():
            print(f"{name}/{peer}")
        return 0
    if not os.access(args.ptc, os.X_OK):
        print(f"peers: {args.ptc} is not there; `make build` makes it", file=sys.stderr)
        return 2
    if args.document and not os.path.isfile(args.document):
        print(f"peers: --document {args.document} is not there; the table goes between its two marks", file=sys.stderr)
        return 2
    os.environ["JAX_PLATFORMS"] = "cpu"
    sys.path.append(os.path.join(ROOT, "bench", "parity"))
    # All processes inherit it: JAX takes as many threads as there are processors.
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: args.threads]))
    state, flags, failed, notes = State(args.dir, args), features(args), 0, []
    key = State(args.dir, argparse.Namespace(**{**vars(args), "keep": False, "fresh": False})).key
    name = machine(args)
    todo = [j for j in jobs() if args.only.search(f"{j[1]}/{j[2]}")]
    if not todo:
        print("peers: no workload matches --only; --list shows them", file=sys.stderr)
        return 2
    for i, (w, workload, peer) in enumerate(todo):

        def said(text, i=i, workload=workload, peer=peer):
            progress(f"[{i + 1}/{len(todo)}] {workload}/{peer}: {text}")

        why = missing(peer, w, flags)
        if why:
            notes.append(f"{workload}/{peer} was not measured: {why}")
            said(why)
            continue
        if state.load(workload, peer) is not None:
            said("done before")
            continue
        try:
            if workload == "gemm":
                result = gemm.measure(args, ROOT, said)
            elif workload == "self":
                result = selfmeasure.measure(args, ROOT, said, bool(flags))
            else:
                result = measure(args, w, peer, said)
        except (Failed, OSError, ValueError, KeyError) as e:
            failed += 1
            notes.append(f"{workload}/{peer} failed")
            said(f"FAILED: {type(e).__name__}: {e}")
            continue
        state.save(workload, peer, result, key)
        assemble(args, state, flags, name, notes)
    out = assemble(args, state, flags, name, notes)
    progress(f"{len(out['rows'])} rows in {args.output}")
    return 1 if failed else 0


def interrupt(*_):
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupt)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        progress("peers: interrupted; what is finished is kept, and the next start goes on after it")
        sys.exit(130)
