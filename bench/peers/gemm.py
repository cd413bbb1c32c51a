"""The sweep of products: bench/gemm beside each BLAS library that is there."""

import glob
import os
import subprocess
import sys
import sysconfig

import results
from ptc import Failed

QUICK = "^64x64x64|^8x"


def libraries():
    """Paths by name: OpenBLAS as NumPy brings it, MKL as its package does."""
    site, lib = sysconfig.get_paths()["purelib"], os.path.join(sys.prefix, "lib")
    out = {}
    for name, patterns in (
        ("openblas", [site + "/numpy.libs/libscipy_openblas*.so*", site + "/numpy.libs/libopenblas*.so*"]),
        ("mkl", [lib + "/libmkl_rt.so*"]),
    ):
        found = sorted(f for p in patterns for f in glob.glob(p))
        if found:
            out[name] = found[0]
    return out


def settings(name):
    """Environments to measure a library under, the best of which counts: OpenBLAS takes
    kernels for AVX2 on processors of AMD, even if they have AVX-512."""
    with open("/proc/cpuinfo") as f:
        cpu = f.read()
    if name == "openblas" and "AuthenticAMD" in cpu and " avx512f " in cpu:
        return [{}, {"OPENBLAS_CORETYPE": "SkylakeX"}]
    return [{}]


def measure(args, root, said):
    if not os.path.isdir(os.path.join(root, "bench", "gemm")):
        raise Failed("bench/gemm is not there")
    libs = libraries()
    if not libs:
        raise Failed("neither OpenBLAS nor MKL is installed")
    binary = os.path.join(args.dir, "gemm")
    subprocess.run(["go", "build", "-o", binary, "./bench/gemm"], cwd=root, check=True, env=dict(os.environ, CGO_ENABLED="0"))
    jobs = [(n, p, s) for n, p in libs.items() for s in settings(n)]
    tables = {}
    for i, (name, path, setting) in enumerate(jobs * args.rounds):
        label = " ".join([name, *setting.values()])
        said(f"round {i // len(jobs) + 1} of {args.rounds}, {label}, {args.threads} threads")
        command = [binary, "-threads", str(args.threads), "-blas", path, "-seconds", "0.1" if args.quick else "0.5"]
        command += ["-run", QUICK] if args.quick else []
        layer = "SEQUENTIAL" if args.threads == 1 else "INTEL"
        env = dict(os.environ, MKL_THREADING_LAYER=layer, MKL_NUM_THREADS=str(args.threads), OPENBLAS_NUM_THREADS=str(args.threads))
        env.update(setting)
        env["LD_LIBRARY_PATH"] = os.path.dirname(path) + ":" + env.get("LD_LIBRARY_PATH", "")
        p = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True)
        if p.returncode != 0:
            raise Failed(f"{' '.join(command)}: {p.stderr.strip()[-1000:]}")
        tables.setdefault(label, []).append({k: v[:2] for k, v in results.parse_gemm(p.stdout).items()})
    notes = [f"{n} was not measured: it is not installed" for n in ("openblas", "mkl") if n not in libs]
    notes.append("oneDNN was not measured: no package has its library with a C interface for products")
    return {"rows": results.best_of_libraries(tables, args.threads), "notes": notes, "version": " and ".join(sorted(libs))}
