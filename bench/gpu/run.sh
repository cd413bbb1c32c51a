#!/usr/bin/env bash
# Tries ptc on the machine's GPU, in order of worth: instructions against the emulator, kernels against the evaluator, training against the
# reference, layouts on one GPU, then speed beside PyTorch and JAX where python3 has them. It writes
# check.txt, vectors.json, gpu.json, gpu.md and measure.txt into OUT, by default this folder, and takes less than ten minutes.
# It needs the driver (libcuda.so.1) and a C library, and no network.
#
# Each part has seconds of its own, so that a kernel that never ends takes no time of others, and a process of its own:
# behind a kernel that faults, a process can use the GPU no more. The last SPEED seconds are for measuring.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${OUT:-$here}
cd "$here"
began=$SECONDS
if [ programs.tar.xz -nt ptc ]; then # it travels compressed; Python reads it where there is no xz
  tar -xJmf programs.tar.xz 2>/dev/null || python3 -c 'import tarfile; tarfile.open("programs.tar.xz").extractall()' || exit
fi
left() { echo $((${LIMIT:-560} - (SECONDS - began))); }
real=${GPU_CHECK_REAL:--real} # -real=false: the driver for tests
part() { # SECONDS TESTS
  local most=$(($(left) - ${SPEED:-180}))
  if ((most > $1)); then most=$1; fi
  if ((most < 10)); then # a limit of 0 would be none
    echo "--- FAIL: $2: no time is left for it"
    return
  fi
  echo "== $2, at most $most s"
  # The test's own limit says what was running.
  timeout -k 5 "$most" ./gpu.test $real -write "$out/vectors.json" -root "$here" -test.v -test.run "$2" -test.timeout "$((most - 5))s" 2>&1 |
    grep -v '^=== ' | tail -n 400
  local status=${PIPESTATUS[0]}
  if ((status != 0)); then echo "--- FAIL: $2: it ends with $status"; fi
}
{
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader 2>&1
  part 30 '^TestDriver$'
  part 60 '^TestVectors$'
  for kind in sm_90a sm_80; do
    for model in mlp gpt llama moe; do
      part 60 "^TestKernels\$/^$kind\$/^$model\$"
    done
  done
  part 60 '^TestCuts$'
  part 60 '^TestTrains$'
  part 60 '^TestLayouts$'
} >"$out/check.txt"
tail -n 3 "$out/check.txt"
seconds=$(left)
timeout -k 5 "$((seconds > 10 ? seconds : 10))" python3 measure.py --ptc ./ptc --examples examples --seconds "$((seconds - 10))" --output "$out/gpu.json" --table "$out/gpu.md" >"$out/measure.txt" 2>&1
tail -n 40 "$out/gpu.md" 2>/dev/null || tail -n 20 "$out/measure.txt"
! grep -q -- '--- FAIL' "$out/check.txt"
