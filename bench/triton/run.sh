#!/usr/bin/env bash
# Runs kernels that Triton compiles under the emulator: `bench/triton/run.sh [--only REGEX]`, see doc.go.
# Triton comes from the Python registry, into TRITON_DIR, a folder outside of the tree: by default ptc-triton
# in the user's cache. TRITON_PYTHON names an interpreter that has it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
dir=${TRITON_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ptc-triton}
if [ -z "${TRITON_PYTHON:-}" ]; then
  . scripts/venv.sh
  venv triton "$dir" "$here/requirements.txt" Triton
  TRITON_PYTHON=$dir/bin/python
fi
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
# What it compiled before is not taken: a cache would hide that this no longer compiles.
TRITON_CACHE_DIR=$made/cache TRITON_DEFAULT_FP_FUSION=1 "$TRITON_PYTHON" "$here/kernels.py" "$made" 2>"$made/log" ||
  { grep -v "nanobind\|^ - leaked" "$made/log" >&2; exit 1; }
go run ./bench/triton "$@" "$made"
