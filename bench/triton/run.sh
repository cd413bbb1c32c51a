#!/usr/bin/env bash
# Runs kernels that Triton compiles under the emulator: `bench/triton/run.sh [--only REGEX]`, see doc.go.
# Triton comes from the Python registry, into TRITON_DIR, a folder outside of the tree: by default ptc-triton
# in the user's cache. TRITON_PYTHON names an interpreter that has it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
dir=${TRITON_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ptc-triton}
python=${PYTHON:-python3}
if [ -z "${TRITON_PYTHON:-}" ]; then
  # The copy of the requirements is written last: without it the environment is unfinished.
  if ! cmp -s "$here/requirements.txt" "$dir/requirements.txt"; then
    echo "triton: installing Triton into $dir" >&2
    rm -rf "$dir"
    "$python" -m venv "$dir" || { echo "triton: no virtual environment; sudo apt-get install python3 python3-venv" >&2; exit 2; }
    "$dir/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt" ||
      { echo "triton: the packages could not be installed from the Python registry" >&2; exit 2; }
    cp "$here/requirements.txt" "$dir/requirements.txt"
  fi
  TRITON_PYTHON=$dir/bin/python
fi
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
# What it compiled before is not taken: a cache would hide that this no longer compiles.
TRITON_CACHE_DIR=$made/cache TRITON_DEFAULT_FP_FUSION=1 "$TRITON_PYTHON" "$here/kernels.py" "$made" 2>"$made/log" ||
  { grep -v "nanobind\|^ - leaked" "$made/log" >&2; exit 1; }
go run ./bench/triton "$@" "$made"
