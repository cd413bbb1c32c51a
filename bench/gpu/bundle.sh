#!/usr/bin/env bash
# Packs what tries plans on a GPU into bin/gpu-check, less than 20 MB: `make gpu-check`. If the machine has a GPU, the
# folder is tried at once, unless GPU_CHECK_BUILD_ONLY is 1; else copy the folder to a machine with a GPU and start
# run.sh there. The programs travel compressed, in one stream, as they share most of their code.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=bin/gpu-check
rm -rf "$out"
mkdir -p "$out/examples"
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
export CGO_ENABLED=0 GOFLAGS=-trimpath
go build -ldflags '-s -w' -o "$programs/ptc" ./cmd/ptc
go test -c -ldflags '-s -w' -o "$programs/gpu.test" ./bench/gpu
for m in mlp gpt llama moe lora; do
  mkdir "$out/examples/$m"
  cp "examples/$m/$m.ptl" "$out/examples/$m/"
done
cp bench/gpu/run.sh bench/gpu/measure.py bench/peers/peer_torch.py bench/peers/peer_jax.py bench/peers/workloads.py bench/parity/models.py "$out/"
tar -C "$programs" -c ptc gpu.test | xz -9 -T1 >"$out/programs.tar.xz" # its window holds both
bytes=$(du -sb "$out" | cut -f1)
if [ "$bytes" -ge 20000000 ]; then
  echo "gpu-check: $out has $bytes bytes; expected less than 20 MB" >&2
  exit 1
fi
echo "$out: $bytes bytes"
if [ "${GPU_CHECK_BUILD_ONLY:-}" = 1 ]; then
  exit 0
fi
if "$programs/gpu.test" -test.run '^TestDriver$' -real >/dev/null 2>&1; then
  rm -rf "$programs"
  exec "$out/run.sh"
fi
echo "There is no GPU of NVIDIA here. Copy $out to a machine that has one, and start run.sh there."
