#!/usr/bin/env bash
# Compares conversations with transformers, see doc.go. The libraries come from the Python registry into CHAT_DIR, a
# folder outside of the tree: by default ptc-chat in the user's cache. CHAT_PYTHON names a Python that has them.
# `run.sh --vectors` writes the sets of the packages' tests anew.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
dir=${CHAT_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ptc-chat}
python=${CHAT_PYTHON:-}
if [ -z "$python" ]; then
  . scripts/venv.sh
  venv chat "$dir" "$here/requirements.txt" "transformers"
  python=$dir/bin/python
fi
export TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1
if [ "${1:-}" = --vectors ]; then
  "$python" "$here/expressions.py" runtime/jinja/testdata/vectors.json
  exec "$python" "$here/make.py" runtime/chat/testdata
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
templates=${1:-runtime/chat/testdata/templates}
"$python" "$here/make.py" "$out" "$templates"
go run ./bench/chat "$out" "$templates"
"$python" "$here/toy.py" "$PWD/bin/ptc" "$out"
