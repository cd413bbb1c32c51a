"""Drives ptc: compiles a workload, runs its steps, reads what it says."""

import json
import os
import subprocess
import tempfile
import time

from worker import peak_bytes

BF16_LAYOUT = "\nlayout peers_bf16 {\n  precision { compute = bf16  params = f32  reduce = f32 }\n}\n"


class Failed(Exception):
    """A program ended with an error, or left out what it was asked for."""


def run(binary, *args):
    p = subprocess.run([binary, *args], capture_output=True, text=True)
    if p.returncode != 0:
        raise Failed(f"ptc {' '.join(args)}: exit status {p.returncode}\n{(p.stderr or p.stdout).strip()[-2000:]}")
    return p.stdout


def until(path, binary, *args):
    """Runs ptc until it has written a file, and ends it then: a validation that
    would follow takes longer than all before. Gives its output."""
    if os.path.exists(path):
        os.remove(path)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        p = subprocess.Popen([binary, *args], stdout=out, stderr=err)
        try:
            while p.poll() is None and not os.path.exists(path):
                time.sleep(0.02)
        finally:
            p.kill()
            p.wait()
        out.seek(0)
        err.seek(0)
        if not os.path.exists(path):
            raise Failed(f"ptc {' '.join(args)}: exit status {p.returncode}\n{err.read().strip()[-2000:]}")
        return out.read()


class Plan:
    """A workload, compiled."""

    def __init__(self, binary, root, folder, workload, threads):
        self.binary, self.threads = binary, threads
        self.path = os.path.join(folder, "plan.bin")
        source = os.path.join(root, "examples", workload.model, workload.model + ".ptl")
        args = ["compile", source, "-q", "-o", self.path]
        if workload.bf16:
            with open(source) as f:
                text = f.read()
            args[1] = os.path.join(folder, workload.model + ".ptl")
            with open(args[1], "w") as f:
                f.write(text + BF16_LAYOUT)
            args += ["--layout", "peers_bf16"]
        for k, v in workload.config.items():
            args += ["--set", f"{k}={v}"]
        start = time.perf_counter()
        run(binary, *args)
        self.compile_s = time.perf_counter() - start

    def explain(self):
        return json.loads(run(self.binary, "explain", self.path, "--json"))

    def dump(self, init, batches, steps):
        """Writes what the first steps are fed, and gives their losses."""
        out = until(batches, self.binary, "run", self.path, "--steps", str(steps), "--threads", str(self.threads), "--log", "json",
                    "--eval-every", "0", "--init", init, "--dump-batches", batches)  # fmt: skip
        return [e["loss"] for e in map(json.loads, out.splitlines()) if e["event"] == "step"]

    def profile(self, steps, threads, path):
        until(path, self.binary, "run", self.path, "--steps", str(steps), "--threads", str(threads), "--eval-every", "0", f"--profile={path}")
        with open(path) as f:
            return json.load(f)

    def steps(self, init, count, warm, started=lambda p: None):
        """Seconds of `count` steps after `warm` others, and the largest resident
        memory. The process is ended after them: what a run does at its end, such
        as a validation, is not measured."""
        args = [self.binary, "run", self.path, "--steps", str(warm + count), "--threads", str(self.threads), "--log", "json",
                "--eval-every", "0", "--init", init]  # fmt: skip
        p = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started(p)
        seconds, most = [], 0
        try:
            for line in p.stdout:
                e = json.loads(line)
                if e["event"] != "step":
                    continue
                seconds.append(e["ms"] / 1000)
                # Reading it takes a moment, in which the next step goes on.
                if len(seconds) <= warm + 1 or len(seconds) == warm + count:
                    most = max(most, self.memory(p.pid))
                if len(seconds) == warm + count:
                    return seconds[warm:], most
            raise Failed(f"{' '.join(args)}: {len(seconds)} steps, not {warm + count}\n{p.stderr.read()[-2000:]}")
        finally:
            p.kill()
            p.wait()
            p.stdout.close()
            p.stderr.close()

    @staticmethod
    def memory(pid):
        try:
            return peak_bytes(f"/proc/{pid}/status")
        except (OSError, ValueError):  # it has just ended
            return 0
