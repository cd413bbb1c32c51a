#!/usr/bin/env bash
# Packs what tries plans on a GPU into bin/gpu-check, less than 64 MiB: `make gpu-check`. Where there
# is a GPU, it is tried at once, unless GPU_CHECK_BUILD_ONLY is 1; elsewhere, copy the folder to a machine
# that has one, and start run.sh there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=bin/gpu-check
rm -rf "$out"
mkdir -p "$out/examples"
export CGO_ENABLED=0 GOFLAGS=-trimpath
go build -ldflags '-s -w' -o "$out/ptc" ./cmd/ptc
go test -c -ldflags '-s -w' -o "$out/gpu.test" ./bench/gpu
for m in mlp gpt llama moe lora; do
  mkdir "$out/examples/$m"
  cp "examples/$m/$m.ptl" "$out/examples/$m/"
done
cp bench/gpu/run.sh bench/gpu/measure.py bench/peers/peer_torch.py bench/peers/peer_jax.py bench/peers/workloads.py bench/parity/models.py "$out/"
bytes=$(du -sb "$out" | cut -f1)
if [ "$bytes" -ge $((64 << 20)) ]; then
  echo "gpu-check: $out has $bytes bytes, which is more than 64 MiB" >&2
  exit 1
fi
echo "$out: $((bytes >> 20)) MiB"
if [ "${GPU_CHECK_BUILD_ONLY:-}" = 1 ]; then
  exit 0
fi
if "$out/gpu.test" -test.run '^TestDriver$' -real >/dev/null 2>&1; then
  exec "$out/run.sh"
fi
echo "There is no GPU of NVIDIA here. Copy $out to a machine that has one, and start run.sh there."
