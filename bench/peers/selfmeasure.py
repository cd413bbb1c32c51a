"""What is measured of ptc alone: shares of what the machine can do, measured in
the same process; see `ptc run --profile` and `ptc bench`."""

import json
import os
import statistics
import tempfile

import results
import workloads
from ptc import Plan, run


def find(name):
    return next(w for w in workloads.workloads() if w.name == name)


def sized(w, **config):
    return workloads.Workload(w.name, w.model, dict(w.config, **config), w.bf16, w.peers)


def peak_share(w, shapes, profile, bench, dot=False):
    """FLOP/s of a step by the peak: the largest that was measured with as many threads,
    beside the steps and alone, since other work on the machine only ever lowers it."""
    c = profile["ranks"][0]["ceilings"]
    alone = [f["max"] for f in bench["figures"] if f["threads"] == c["threads"] and f["unit"] == "GFLOP/s" and f["name"].startswith("dot" if dot else "fma")]
    peak = max([c.get("dot_gflops" if dot else "gflops") or 0, *alone])
    seconds = (profile["step_ms"] or profile["profiled_step_ms"]) / 1000
    return workloads.flops(w, shapes) / seconds / 1e9 / peak if peak else None


def measure(args, root, said, has_bf16):
    from models import MODELS

    f32, bf16 = find("gpt2-124m-b4-t256-f32"), find("gpt2-124m-b4-t256-bf16")
    if args.quick:
        f32, bf16 = workloads.quick(f32), workloads.quick(bf16)
    shapes = {k: s.shape for k, s in MODELS["gpt"].specs(f32.config).items()}
    steps = 6 if args.quick else 12  # two warm up, the others are profiled in turn
    out, seconds = {}, {}
    with tempfile.TemporaryDirectory(prefix="measure-", dir=args.dir) as folder:
        said("compiling")
        plans = [Plan(args.ptc, root, folder, f32, args.threads) for _ in range(3)]
        plan, path = plans[-1], os.path.join(folder, "profile.json")
        e = plan.explain()
        bench = json.loads(run(args.ptc, "bench", "--threads", str(args.threads), "--json"))
        for n in sorted({1, min(2, args.threads), args.threads}):
            said(f"a profile with {n} threads")
            p = plan.profile(steps, n, path)
            seconds[n] = p["step_ms"]
            out[f"gpt2_f32_peak_share_{n}t"] = peak_share(f32, shapes, p, bench)
        out["two_threads"] = seconds[1] / seconds[2] if 2 in seconds else None
        out["sweep_bandwidth_share"] = results.sweep_share(p, 1 if args.quick else 32 << 20, max(f["max"] for f in bench["figures"] if f["name"] == "update"))
        out["launch_reduction"] = 1 - e["launches_per_step"] / e["ops_before_fusion"]
        out["replay_us_per_kernel"] = next(f["median"] for f in bench["figures"] if f["name"] == "launch" and f["threads"] == args.threads)
        out["compile_s_gpt2"] = statistics.median(p.compile_s for p in plans)
        said("bf16")
        narrow = Plan(args.ptc, root, folder, bf16, args.threads)
        arena = lambda plan: max(plan.explain()["memory"]["peak_bytes_per_device"])
        out["bf16_arena_vs_f32_b4_t256"] = arena(narrow) / arena(plan)
        wide = [arena(Plan(args.ptc, root, folder, sized(w, batch=32, seq=1024), args.threads)) for w in (bf16, f32)]
        out["bf16_arena_vs_f32"] = wide[0] / wide[1]
        narrow = Plan(args.ptc, root, folder, bf16, args.threads)
        out["gpt2_bf16_peak_share"] = peak_share(bf16, shapes, narrow.profile(steps, args.threads, path), bench, True) if has_bf16 else None
    return {"self": out}
