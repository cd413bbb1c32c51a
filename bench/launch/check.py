"""Translates published configurations to sources and back, and has the software's parsers compare: check.py PTC SOURCES WORK."""
import json
import math
import os
import re
import sys

from common import here, ptc, run, sources, work
from python_configs import Bridge, TorchtitanPython
from software import DeepSpeed, MaxText, Megatron, Torchtitan

LEAST = 20  # configurations of each software that must be equal after both translations


def compare(s, a, b):
    """The fields that differ."""
    keys = getattr(s, "sizes", None) or sorted(set(a) | set(b))
    for k in keys:
        x, y = a.get(k), b.get(k)
        if k == "train_iters" and a.get("train_samples") or k == "ffn_hidden_size" and a.get("num_experts"):
            continue  # said in samples; of no MLP that there is
        if k in s.differ or x == y or isinstance(x, float) and isinstance(y, (int, float)) and math.isclose(x, y, rel_tol=1e-9):
            continue
        yield f"{k} {x!r}, then {y!r}"


def check(s):
    """How many configurations are equal, and how many differ."""
    cases, pairs, names, refused = list(s.cases()), [], [], []
    for name, case in cases:
        out = work / "run.ptl"
        done = s.translate(case, out)
        if done.returncode != 0:
            if done.returncode != 1 or "error" not in done.stderr:
                raise SystemExit(f"{s.name}: {name}: exit code {done.returncode}: {done.stderr}")
            refused.append((name, re.sub(r"(?m)^note:.*\n", "", done.stderr).splitlines()[0]))
            continue
        back = run(ptc, "layout", "to", s.name, str(out))
        if back.returncode != 0:
            raise SystemExit(f"{s.name}: {name}: {back.stderr}")
        pairs += [{k: v for k, v in case.items() if k != "files"}, s.back(case, back.stdout)]
        names.append(name)
    parsed = run(sys.executable, str(here / "parsers.py"), s.name, str(sources), input=json.dumps(pairs))
    if parsed.returncode != 0:
        raise SystemExit(f"{s.name}: {parsed.stderr}")
    results = json.loads(parsed.stdout)
    equal = wrong = skipped = 0
    for name, case, again, a, b in zip(names, pairs[::2], pairs[1::2], results[::2], results[1::2]):
        if "error" in a:  # the parser refuses it here, such as for a library that is not there
            skipped += 1
            print(f"{s.name}: {name}: its own parser: {a['error'][:200]}")
            continue
        for which, result in zip((case, again), (a, b)):
            if "fields" in result and hasattr(s, "derive"):
                s.derive(which, result["fields"])
        differences = [f"after both: {b['error']}"] if "error" in b else list(compare(s, a["fields"], b["fields"]))
        if differences:
            wrong += 1
            print(f"{s.name}: {name}: {'; '.join(differences)[:2000]}")
        else:
            equal += 1
    for name, why in refused:
        print(f"{s.name}: {name}: refused: {why[:300]}")
    print(f"{s.name}: {equal} of {len(cases)} equal, {wrong} differ, {len(refused)} refused, {skipped} that its own parser refuses")
    return equal, wrong


if __name__ == "__main__":
    only = os.environ.get("LAUNCH_ONLY")
    total, differ = {}, 0
    for s in (Megatron, Bridge, Torchtitan, TorchtitanPython, DeepSpeed, MaxText):
        if only in (None, s.name):
            equal, wrong = check(s())
            total[s.name] = total.get(s.name, 0) + equal
            differ += wrong
    print("launch: equal are " + ", ".join(f"{n} of {name}" for name, n in total.items()))
    few = [name for name, n in total.items() if n < LEAST]
    if differ or few:
        raise SystemExit(f"launch: {differ} configurations differ; expected none, and at least {LEAST} that are equal" + "".join(f"; {name} has fewer" for name in few))
