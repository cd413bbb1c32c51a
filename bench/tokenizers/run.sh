#!/usr/bin/env bash
# Compares tokenizers with the libraries that define them, see doc.go. The libraries come from the Python
# registry into TOKENIZERS_DIR, a folder outside of the tree: by default ptc-tokenizers in the user's cache.
# TOKENIZERS_PYTHON names a Python that has them. `run.sh --vectors` writes the set of the package's tests anew.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
dir=${TOKENIZERS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ptc-tokenizers}
python=${TOKENIZERS_PYTHON:-}
if [ -z "$python" ]; then
  . scripts/venv.sh
  venv tokenizers "$dir" "$here/requirements.txt" "the libraries of tokenizers"
  python=$dir/bin/python
fi
if [ "${1:-}" = --vectors ]; then
  exec "$python" "$here/make.py" runtime/tokenizer/testdata --small
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$python" "$here/make.py" "$out" "$@"
go run ./bench/tokenizers "$out"
