#!/usr/bin/env bash
# Tries ptc on the machine's GPU, in order of worth: instructions against the emulator, kernels against the evaluator, training against the
# reference, layouts on one GPU, then speed beside PyTorch and JAX where python3 has them. It writes
# check.txt, vectors.json, gpu.json and gpu.md into OUT, by default this folder, and takes less than ten minutes.
# It needs the driver (libcuda.so.1) and a C library, and no network.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${OUT:-$here}
cd "$here"
began=$SECONDS
left() { echo $((${LIMIT:-560} - (SECONDS - began))); }
real=${GPU_CHECK_REAL:--real}
{
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader 2>&1
  for part in Driver Vectors Kernels Trains Layouts; do
    echo "== $part, $(left) s left"
    timeout "$(left)" ./gpu.test $real -write "$out/vectors.json" -root "$here" -test.v -test.run "^Test$part\$" -test.timeout "$(left)s" 2>&1 | grep -v '^=== ' | tail -n 400
  done
} >"$out/check.txt"
tail -n 3 "$out/check.txt"
python3 measure.py --ptc ./ptc --examples examples --seconds "$(left)" --output "$out/gpu.json" --table "$out/gpu.md" >"$out/measure.txt" 2>&1
tail -n 40 "$out/gpu.md" 2>/dev/null || tail -n 20 "$out/measure.txt"
! grep -q -- '--- FAIL' "$out/check.txt"
