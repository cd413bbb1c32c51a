"""Rows of results, their file, and the table of docs/performance.md."""

import json
import math
import os
import statistics

BEGIN, END = "<!-- peers: written by make bench-peers -->", "<!-- /peers -->"


def row(workload, threads, peer, metric, ours, theirs):
    """A row of rounds that took turns: medians of both, of the ratio of each
    round, and how far those spread, relative to their median."""
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    ratio = statistics.median(ratios)
    return {
        "workload": workload, "threads": threads, "peer": peer, "metric": metric,
        "ptc": statistics.median(ours), "other": statistics.median(theirs),
        "ratio": ratio, "spread": (max(ratios) - min(ratios)) / ratio,
    }  # fmt: skip


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(v) for v in values))


def best_of_libraries(tables, threads):
    """One row for each product, beside the library that was fastest at it.
    `tables` maps a library to its rounds, each a table by product: (ptc,
    library)."""
    rows = []
    for product in next(iter(tables.values()))[0]:
        rounds = {p: [t[product] for t in list_ if product in t] for p, list_ in tables.items()}
        rounds = {p: r for p, r in rounds.items() if r}
        peer = max(rounds, key=lambda p: statistics.median(r[1] for r in rounds[p]))
        rows.append(row("gemm-" + product, threads, peer, "gflops", *map(list, zip(*rounds[peer]))))
    return rows


def parse_gemm(text):
    """The lines of bench/gemm: by product, GFLOP/s of ptc, of the library and
    of the peak."""
    out = {}
    for line in text.splitlines():
        f = line.split()
        if len(f) >= 8 and f[-4].endswith("%"):
            *name, _, ours, _, theirs, _, peak = f
            out["-".join(name).replace("-x-", "x")] = (float(ours), float(theirs), float(peak))
    return out


def close(got, want, tolerance):
    """Problems of losses that should agree to rounding."""
    if len(got) != len(want):
        return [f"{len(got)} losses, not {len(want)}"]
    out = []
    for i, (g, w) in enumerate(zip(got, want)):
        if not abs(g - w) <= tolerance * abs(w):
            out.append(f"the loss of step {i + 1} is {g:.6f}, and ptc's {w:.6f}")
    return out


def sweep_share(profile, least=32 << 20, alone=0):
    """What sweeps over much memory reach of the machine's rate of updating it:
    kernels that are no products and whose launch moves more than a cache holds. The
    rate is the larger one of that beside the steps and that alone, since other work
    on the machine only ever lowers it. None where there are none, or it is not known."""
    r = profile["ranks"][0]
    limit = max(r["ceilings"]["update_gb_per_s"] or 0, alone)
    moved = time = 0
    for k in r["kernels"]:
        if k["class"] in ("gemm", "attention", "scatter", "comm") or k["bytes"] < least or k.get("bound") != "memory":
            continue
        moved += k["bytes"] * k["launches_per_step"]
        time += k["ms_per_step"] * 1e6
    return moved / time / limit if time and limit else None


def write(path, text):
    """Replaces a file, whole or not at all."""
    with open(path + ".tmp", "w") as f:
        f.write(text)
    os.replace(path + ".tmp", path)


def text_of(results):
    return json.dumps(results, indent=1, sort_keys=False) + "\n"


UNITS = {"tokens_per_s": ("tokens/s", 1), "peak_bytes": ("MiB at most", 2**-20), "compile_s": ("s to compile", 1), "gflops": ("GFLOP/s", 1)}


def number(v):
    if v is None:
        return ""
    return f"{v:,.0f}" if abs(v) >= 1000 else f"{v:.3g}"


def table(results):
    """The results for people."""
    out = [f"Machine: {results['machine']}.", ""]
    out += ["| workload | threads | peer | | ptc | peer | ratio | spread |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for r in results["rows"] + results.get("others", []):
        unit, scale = UNITS[r["metric"]]
        cells = [r["workload"], str(r["threads"]), r["peer"], unit, number(r["ptc"] * scale), number(r["other"] * scale)]
        out.append("| " + " | ".join(cells + [f"{r['ratio']:.2f}", f"{100 * r['spread']:.0f}%"]) + " |")
    if results["self"]:
        out += ["", "| of ptc alone | |", "| --- | --- |"]
        out += [f"| {k} | {number(v) or 'not measured'} |" for k, v in results["self"].items()]
    if results.get("notes"):
        out += [""] + [f"- {n}" for n in results["notes"]]
    return "\n".join(out)


def place(document, text):
    """The document with the text between the markers."""
    before, found, rest = document.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"the document has no lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"
