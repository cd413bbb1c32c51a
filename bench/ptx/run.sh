#!/usr/bin/env bash
# Assembles what ptc makes for GPUs: `bench/ptx/run.sh [--only REGEX] [--output FILE]`, see doc.go.
# NVIDIA's assembler and disassembler come from the Python registry, into PTX_DIR, a folder outside of
# the tree: by default ptc-ptx in the user's cache. PTXAS and NVDISASM name others.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
dir=${PTX_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ptc-ptx}
if [ -z "${PTXAS:-}" ] || [ -z "${NVDISASM:-}" ]; then
  . scripts/venv.sh
  venv ptx "$dir" "$here/requirements.txt" "NVIDIA's assembler"
  find_tool() { find "$dir/lib" -type f -name "$1" -path '*bin*' | sort | head -n 1; }
  PTXAS=${PTXAS:-$(find_tool ptxas)} NVDISASM=${NVDISASM:-$(find_tool nvdisasm)}
  chmod +x "$PTXAS" "$NVDISASM"
fi
exec go run ./bench/ptx -ptxas "$PTXAS" -nvdisasm "$NVDISASM" "$@"
