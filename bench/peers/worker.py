"""A process that trains one model with one peer and waits in between:
`worker.py SPEC`, where SPEC is a JSON file. It writes a JSON object on a line:
first, once it has compiled and run one step for each batch, {"losses",
"compile_s", "version"}; then, for each line "run N" on its standard input, the
seconds of N further steps and the largest resident memory so far. It ends with
its standard input."""

import json
import os
import sys
import time


def peak_bytes(status="/proc/self/status"):
    """The largest resident memory of a process so far."""
    with open(status) as f:
        for line in f:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    raise ValueError(f"{status} has no VmHWM")


def main():
    with open(sys.argv[1]) as f:
        spec = json.load(f)
    # Libraries print; what is said here is for the harness alone.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(x):
        out.write(json.dumps(x) + "\n")
        out.flush()

    if spec["peer"] == "jax":
        import peer_jax as peer
    elif spec["peer"].startswith("torch"):
        import peer_torch as peer
    else:
        import peer_llmc as peer
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "parity"))
    import tensorfile

    fed = tensorfile.load(spec["batches"])
    batches = [(fed[f"step.{i}.tokens"], fed[f"step.{i}.targets"]) for i in range(1, spec["steps"] + 1)]
    params = tensorfile.load(spec["init"])
    p = peer.Peer(spec, params)
    del params, fed
    compile_s = p.compile(*batches[0])
    say({"losses": [p.step(*b) for b in batches], "compile_s": compile_s, "version": peer.VERSION})
    done = 0
    for line in sys.stdin:
        word, n = line.split()
        if word != "run":
            raise ValueError(line)
        seconds = []
        for _ in range(int(n)):
            b = batches[done % len(batches)]
            done += 1
            start = time.perf_counter()
            p.step(*b)
            seconds.append(time.perf_counter() - start)
        say({"seconds": seconds, "peak_bytes": peak_bytes()})


if __name__ == "__main__":
    main()
