"""Compiles the kernels of this file by Triton, and writes for each its PTX, its arguments and what it should
make of them: `kernels.py FOLDER`. No GPU is needed. See doc.go."""

import json
import pathlib
import re
import sys

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource, GluonJITFunction
from triton.experimental.gluon.language.nvidia.hopper import cluster, fence_async_shared, mbarrier, tma, warpgroup_mma

# Triton's name, numpy's type, and the number of CUtensorMapDataType of each type of elements.
TYPES = {
    "fp32": (np.float32, 7),
    "fp16": (np.float16, 6),
    "bf16": (ml_dtypes.bfloat16, 9),
    "fp8e4nv": (ml_dtypes.float8_e4m3fn, 0),
    "fp8e5": (ml_dtypes.float8_e5m2, 0),
}


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
            TA: tl.constexpr, TB: tl.constexpr, PRECISION: tl.constexpr):
    """c = a @ b by pointers; a is K x M where TA, b is N x K where TB."""
    blocks = N // BN
    i = tl.program_id(0) // blocks * BM + tl.arange(0, BM)
    j = tl.program_id(0) % blocks * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        if TA:
            x = tl.trans(tl.load(a + (k0 + k)[:, None] * M + i[None, :]))
        else:
            x = tl.load(a + i[:, None] * K + (k0 + k)[None, :])
        if TB:
            y = tl.trans(tl.load(b + j[:, None] * K + (k0 + k)[None, :]))
        else:
            y = tl.load(b + (k0 + k)[:, None] * N + j[None, :])
        acc = tl.dot(x, y, acc, input_precision=PRECISION)
    tl.store(c + i[:, None] * N + j[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def tiles(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
          TA: tl.constexpr, TB: tl.constexpr, WARPS: tl.constexpr):
    """The same by tensor maps."""
    blocks = N // BN
    i = tl.program_id(0) // blocks * BM
    j = tl.program_id(0) % blocks * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=WARPS):
        if TA:
            x = a.load([k, i]).T
        else:
            x = a.load([i, k])
        if TB:
            y = b.load([j, k]).T
        else:
            y = b.load([k, j])
        acc = tl.dot(x, y, acc)
    c.store([i, j], acc.to(c.dtype))


@triton.jit
def attention(q, k, v, o, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """o = softmax(q k', causal) v of one head, a block of queries at a time."""
    first = tl.program_id(0) * BM
    i = first + tl.arange(0, BM)
    d = tl.arange(0, D)
    x = tl.load(q + i[:, None] * D + d[None, :])
    top = tl.full((BM,), -1e30, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for j0 in range(0, first + BM, BN):
        j = j0 + tl.arange(0, BN)
        y = tl.load(k + j[:, None] * D + d[None, :])
        s = tl.dot(x, y.T) * (1.4426950408889634 / D**0.5)
        s = tl.where(i[:, None] >= j[None, :], s, -1e30)
        most = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - most[:, None])
        scale = tl.exp2(top - most)
        total = total * scale + tl.sum(p, 1)
        z = tl.load(v + j[:, None] * D + d[None, :])
        acc = tl.dot(p.to(z.dtype), z, acc * scale[:, None])
        top = most
    tl.store(o + i[:, None] * D + d[None, :], (acc / total[:, None]).to(o.dtype.element_ty))


@triton.jit
def norm(x, w, y, N, BN: tl.constexpr):
    """y = layernorm(x) * w, a row a block."""
    i = tl.program_id(0)
    j = tl.arange(0, BN)
    inside = j < N
    r = tl.load(x + i * N + j, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(r, 0) / N
    r = tl.where(inside, r - mean, 0.0)
    r = r * tl.rsqrt(tl.sum(r * r, 0) / N + 1e-5)
    tl.store(y + i * N + j, (r * tl.load(w + j, mask=inside, other=0.0)).to(y.dtype.element_ty), mask=inside)


@triton.jit
def turned(a, c, I: tl.constexpr, J: tl.constexpr, K: tl.constexpr):
    """c[k, j, i] = a[i, j, k] by tensor maps of three dimensions, at a position partly outside."""
    t = a.load([-1, 2, 0])
    c.store([0, 0, 0], tl.permute(t, (2, 1, 0)))


@gluon.jit
def layouts(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, LA: gl.constexpr, LB: gl.constexpr, LC: gl.constexpr):
    """c = a @ b of one block by warpgroups, whose operands lie in shared memory as LA and LB say."""
    r: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    i, k = gl.arange(0, M, gl.SliceLayout(1, r)), gl.arange(0, K, gl.SliceLayout(0, r))
    x = gl.load(a + i[:, None] * K + k[None, :])
    k, j = gl.arange(0, K, gl.SliceLayout(1, r)), gl.arange(0, N, gl.SliceLayout(0, r))
    y = gl.load(b + k[:, None] * N + j[None, :])
    x = gl.allocate_shared_memory(x.dtype, [M, K], LA, x)
    y = gl.allocate_shared_memory(y.dtype, [K, N], LB, y)
    fence_async_shared()
    gl.barrier()
    acc = warpgroup_mma(x, y, gl.zeros([M, N], gl.float32, LC), is_async=False)
    i, j = gl.arange(0, M, gl.SliceLayout(1, LC)), gl.arange(0, N, gl.SliceLayout(0, LC))
    gl.store(c + i[:, None] * N + j[None, :], acc)


@gluon.jit
def spread(a, b, c, N, K, M: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, LC: gl.constexpr):
    """c = a @ b of one cluster of two blocks, each of which has half the rows and gets the same tiles of b."""
    x = gl.allocate_shared_memory(a.dtype, a.block_shape, a.layout)
    y = gl.allocate_shared_memory(b.dtype, b.block_shape, b.layout)
    there = mbarrier.allocate_mbarrier()
    mbarrier.init(there, count=1)
    fence_async_shared(cluster=True)
    cluster.barrier()
    acc = gl.zeros([M, BN], gl.float32, LC)
    phase = 0
    for k in range(0, K, BK):
        mbarrier.expect(there, a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_load(a, [0, k], there, x)
        tma.async_load(b, [k, 0], there, y, multicast=True)
        mbarrier.wait(there, phase, deps=[x, y])
        phase ^= 1
        acc = warpgroup_mma(x, y, acc, is_async=False)
        cluster.barrier()
    mbarrier.invalidate(there)
    i, j = gl.arange(0, M, gl.SliceLayout(1, LC)), gl.arange(0, BN, gl.SliceLayout(0, LC))
    gl.store(c + i[:, None] * N + j[None, :], acc)


class Case:
    """A kernel with its buffers, arguments and results."""

    def __init__(self, folder, name, seed):
        self.folder, self.name = folder, name
        self.random = np.random.default_rng(seed)
        self.buffers, self.args, self.results, self.signature = [], [], [], {}

    def file(self, suffix, data):
        path = f"{self.name}.{suffix}"
        (self.folder / path).write_bytes(np.ascontiguousarray(data).tobytes())
        return path

    def buffer(self, data):
        self.buffers.append(self.file(f"buffer{len(self.buffers)}", data))
        return len(self.buffers) - 1

    def values(self, shape, kind):
        return (self.random.integers(-8, 9, shape) / 8).astype(TYPES[kind][0])

    def pointer(self, name, data, kind):
        self.args.append({"buffer": self.buffer(data)})
        self.signature[name] = "*" + kind

    def tile(self, name, data, kind, block, layout=None):
        """A tensor map, whose box and swizzle the compiler chooses (see done), or a layout says."""
        block = str(list(block)).replace(" ", "")
        self.signature[name] = f"tensordesc<{kind}{block}{f',{layout!r}' if layout else ''}>"
        strides = [s for s in data.strides]
        self.args.append({"map": {"buffer": self.buffer(data), "type": TYPES[kind][1],
                                  "sizes": list(data.shape), "strides": strides[:-1]}})
        for n in data.shape:
            self.args.append({"u32": n})
        for s in strides:
            self.args.append({"u64": s // data.itemsize})

    def number(self, name, n):
        self.args.append({"u32": n})
        self.signature[name] = "i32"

    def result(self, buffer, expected, kind, tolerance):
        self.results.append({"buffer": buffer, "type": kind, "tolerance": tolerance,
                             "expected": self.file(f"expected{len(self.results)}", expected.astype(np.float64))})

    def done(self, kernel, constants, grid, arch, options, alike=False):
        """The entry of the index. alike: several threads store the same at one place, or parts of one word."""
        signature = {n: "constexpr" if n in constants else self.signature[n] for n in kernel.arg_names}
        aligned = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(kernel.arg_names)
                   if signature[n].startswith("*") or n in "MNK" and signature[n] == "i32"}
        make = GluonASTSource if isinstance(kernel, GluonJITFunction) else ASTSource
        source = make(kernel, signature, constexprs=constants, attrs=aligned)
        made = triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)
        maps = iter(made.metadata.tensordesc_meta or [])
        for a in self.args:
            if "map" in a:
                m = next(maps)
                a["map"] |= {"swizzle": m["swizzle"], "box": list(m["block_size"])}
        text = made.asm["ptx"]
        (self.folder / f"{self.name}.ptx").write_text(text)
        wanted = len(re.findall(r"^\s*\.param", text, re.M))
        self.args += [{"u64": 0}] * (wanted - len(self.args))  # scratch memory, of which none is asked for
        return {"name": self.name, "grid": grid, "shared": made.metadata.shared, "alike": alike, "buffers": self.buffers,
                "args": self.args, "results": self.results}


def products(folder, arch):
    """Products by pointers: copies of sm_80, matrices of warps or of warpgroups, or multiplied one by one."""
    table = [("fp16", 0, 0, "tf32"), ("bf16", 0, 0, "tf32"), ("bf16", 1, 0, "tf32"), ("bf16", 0, 1, "tf32"), ("fp16", 1, 1, "tf32"),
             ("fp32", 0, 0, "tf32"), ("fp32", 0, 1, "tf32"), ("fp32", 0, 0, "ieee")]
    if arch >= 89:
        table += [("fp8e4nv", 0, 1, "tf32"), ("fp8e5", 0, 1, "tf32")]
    for kind, ta, tb, precision in table:
        c = Case(folder, f"product_{kind}_{ta}{tb}_{precision}_{arch}", 1)
        (m, n, k), (bm, bn, bk) = (128, 192, 160), (64, 64, 32)
        a, b = c.values((m, k), kind), c.values((k, n), kind)
        out = "fp32" if kind.startswith("fp8") or kind == "fp32" else kind
        c.pointer("a", a.T if ta else a, kind)
        c.pointer("b", b.T if tb else b, kind)
        c.pointer("c", np.zeros((m, n), TYPES[out][0]), out)
        for name, x in zip("MNK", (m, n, k)):
            c.number(name, x)
        c.result(2, a.astype(float) @ b.astype(float), out, {"bf16": 2**-8, "fp16": 2**-11}.get(out, 1e-6))
        yield c.done(product, dict(BM=bm, BN=bn, BK=bk, TA=ta, TB=tb, PRECISION=precision),
                     m // bm * (n // bn), arch, dict(num_warps=4, num_stages=3))


def hopper(folder):
    """Products by tensor maps and warpgroups, of each layout and several swizzles, with and without warps for copies."""
    table = [("fp16", 0, 0, 64, 128, 64), ("bf16", 1, 0, 128, 128, 64), ("bf16", 0, 1, 128, 64, 64), ("fp16", 1, 1, 64, 64, 64),
             ("bf16", 0, 0, 64, 32, 32), ("bf16", 0, 1, 64, 64, 16), ("bf16", 1, 0, 64, 256, 32), ("fp8e4nv", 0, 1, 64, 64, 128), ("fp8e5", 0, 1, 128, 128, 64)]
    for kind, ta, tb, bm, bn, bk in table:
        for warps, groups in (4, False), (8, False), (4, True):
            if bm < 16 * warps or groups and (bm > 64 or bn > 128):
                continue
            c = Case(folder, f"tiles_{kind}_{ta}{tb}_{bm}_{bn}_{bk}_{warps}{'_special' if groups else ''}_90", 2)
            m, n, k = 2 * bm, 2 * bn, 5 * bk
            a, b = c.values((m, k), kind), c.values((k, n), kind)
            out = "fp16" if kind.startswith("fp8") else kind
            c.tile("a", np.ascontiguousarray(a.T) if ta else a, kind, (bk, bm) if ta else (bm, bk))
            c.tile("b", np.ascontiguousarray(b.T) if tb else b, kind, (bn, bk) if tb else (bk, bn))
            c.tile("c", np.zeros((m, n), TYPES[out][0]), out, (bm, bn))
            for name, x in zip("MNK", (m, n, k)):
                c.number(name, x)
            c.result(2, a.astype(float) @ b.astype(float), out, {"bf16": 2**-8, "fp16": 2**-11}[out])
            yield c.done(tiles, dict(BM=bm, BN=bn, BK=bk, TA=ta, TB=tb, WARPS=groups), 4, 90, dict(num_warps=warps, num_stages=3), alike=groups)


def operands(folder):
    """Each layout of operands of warpgroups, with parts of a row next to each other and apart."""
    for kind, bits in ("bf16", 16), ("fp32", 32), ("fp8e4nv", 8):
        for span_a, span_b in (32, 32), (64, 64), (128, 128), (32, 128), (64, 32):
            for rows_a, rows_b in ((0, 0), (0, 1), (1, 0), (1, 1)) if bits == 16 else ((0, 0),):
                c = Case(folder, f"layouts_{kind}_{span_a}{'m' if rows_a else 'k'}_{span_b}{'n' if rows_b else 'k'}_90", 6)
                m, n, k = 64, 128, 128
                a, b = c.values((m, k), kind), c.values((k, n), kind)
                c.pointer("a", a, kind)
                c.pointer("b", b, kind)
                c.pointer("c", np.zeros((m, n), np.float32), "fp32")
                c.result(2, a.astype(float) @ b.astype(float), "fp32", 1e-6)
                layout = [gl.NVMMASharedLayout(swizzle_byte_width=span, element_bitwidth=bits, rank=2, transposed=turned)
                          for span, turned in ((span_a, rows_a == 1), (span_b, rows_b == 0))]
                out = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, n, 256 // bits])
                yield c.done(layouts, dict(M=m, N=n, K=k, LA=layout[0], LB=layout[1], LC=out), 1, 90, dict(num_warps=4), alike=bits < 32)


def clusters(folder):
    for n in 64, 128:
        c = Case(folder, f"spread_{n}_90", 7)
        m, k, bk = 128, 192, 64
        a, b = c.values((m, k), "bf16"), c.values((k, n), "bf16")
        shared = [gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2, cga_layout=[[i, 0]]) for i in (1, 0)]
        c.tile("a", a, "bf16", (m, bk), shared[0])
        c.tile("b", b, "bf16", (bk, n), shared[1])
        c.pointer("c", np.zeros((m, n), np.float32), "fp32")
        c.number("N", n)
        c.number("K", k)
        c.result(2, a.astype(float) @ b.astype(float), "fp32", 1e-6)
        out = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, n, 16], cga_layout=[[1, 0]])
        yield c.done(spread, dict(M=m, BN=n, BK=bk, LC=out), 2, 90, dict(num_warps=4, num_ctas=2))


def attentions(folder, arch):
    """Softmax between two products; the second one's left operand comes from registers."""
    for d in 64, 128:
        c = Case(folder, f"attention_{d}_{arch}", 3)
        n = 128
        q, k, v = (c.values((n, d), "bf16") for _ in range(3))
        for name, x in zip("qkv", (q, k, v)):
            c.pointer(name, x, "bf16")
        c.pointer("o", np.zeros((n, d), np.float32), "fp32")
        c.number("N", n)
        s = q.astype(float) @ k.astype(float).T / d**0.5
        s[np.triu_indices(n, 1)] = -np.inf
        p = np.exp(s - s.max(1, keepdims=True))
        c.result(3, p / p.sum(1, keepdims=True) @ v.astype(float), "fp32", 2**-7)
        yield c.done(attention, dict(D=d, BM=64, BN=32), n // 64, arch, dict(num_warps=4, num_stages=2), alike=d == 128)


def norms(folder, arch):
    for n, warps in (96, 1), (1000, 4), (1024, 8):
        c = Case(folder, f"norm_{n}_{warps}_{arch}", 4)
        x, w = c.values((5, n), "bf16"), c.values((n,), "fp32")
        c.pointer("x", x, "bf16")
        c.pointer("w", w, "fp32")
        c.pointer("y", np.zeros((5, n), np.float32), "fp32")
        c.number("N", n)
        r = x.astype(float)
        r = r - r.mean(1, keepdims=True)
        c.result(2, r / np.sqrt((r * r).mean(1, keepdims=True) + 1e-5) * w, "fp32", 1e-5)
        yield c.done(norm, dict(BN=triton.next_power_of_2(n)), 5, arch, dict(num_warps=warps), alike=warps > 1)


def turns(folder):
    for kind, (i, j, k) in (("fp32", (4, 8, 16)), ("bf16", (8, 4, 16)), ("fp16", (2, 16, 64))):
        c = Case(folder, f"turned_{kind}_{i}_{j}_{k}_90", 5)
        a = c.values((i, j, k), kind)
        c.tile("a", a, kind, (i, j, k))
        out = np.zeros((k, j, i + 8), TYPES[kind][0])
        c.tile("c", out, kind, (k, j, max(i, 16 // out.itemsize)))
        x = np.zeros((i, j, k))
        x[1:, :-2, :] = a[:-1, 2:, :]
        want = np.zeros(out.shape)
        want[:, :, :i] = x.transpose(2, 1, 0)
        c.result(1, want, kind, 0)
        if i < 16 // out.itemsize:
            continue
        yield c.done(turned, dict(I=i, J=j, K=k), 1, 90, dict(num_warps=4), alike=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    cases = []
    for arch in 80, 89, 90:
        cases += [*products(folder, arch), *attentions(folder, arch), *norms(folder, arch)]
    cases += [*hopper(folder), *operands(folder), *clusters(folder), *turns(folder)]
    (folder / "index.json").write_text(json.dumps(cases, indent=1))
    print(f"{len(cases)} kernels by triton {triton.__version__}")


main()
