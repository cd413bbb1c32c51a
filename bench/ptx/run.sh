#!/usr/bin/env bash
# Assembles what ptc makes for GPUs: `bench/ptx/run.sh [--only REGEX] [--output FILE]`, see doc.go.
# NVIDIA's assembler and disassembler come from the Python registry, into PTX_DIR, a folder outside of
# the tree: by default ptc-ptx in the user's cache. PTXAS and NVDISASM name others.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
dir=${PTX_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ptc-ptx}
python=${PYTHON:-python3}
if [ -z "${PTXAS:-}" ] || [ -z "${NVDISASM:-}" ]; then
  # The copy of the requirements is written last: without it the environment is unfinished.
  if ! cmp -s "$here/requirements.txt" "$dir/requirements.txt"; then
    echo "ptx: installing NVIDIA's assembler into $dir" >&2
    rm -rf "$dir"
    "$python" -m venv "$dir" || { echo "ptx: no virtual environment; sudo apt-get install python3 python3-venv" >&2; exit 2; }
    "$dir/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt" ||
      { echo "ptx: the packages could not be installed from the Python registry" >&2; exit 2; }
    cp "$here/requirements.txt" "$dir/requirements.txt"
  fi
  find_tool() { find "$dir/lib" -type f -name "$1" -path '*bin*' | sort | head -n 1; }
  PTXAS=${PTXAS:-$(find_tool ptxas)} NVDISASM=${NVDISASM:-$(find_tool nvdisasm)}
  chmod +x "$PTXAS" "$NVDISASM"
fi
exec go run ./bench/ptx -ptxas "$PTXAS" -nvdisasm "$NVDISASM" "$@"
