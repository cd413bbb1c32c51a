#!/usr/bin/env bash
# Holds the families of std.models to transformers: `bench/hf/run.sh`, or with --vectors writes testdata anew. See doc.go.
# HF_DRAWN configs of each family are drawn, 100 by default, from the number HF_SEED. Python's packages come from its registry into HF_DIR, a folder outside of the tree: by default ptc-hf in the user's
# cache. HF_PYTHON names a Python that has them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
export HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error PYTHONDONTWRITEBYTECODE=1
dir=${HF_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ptc-hf}
python=${HF_PYTHON:-$dir/bin/python}
if [ -z "${HF_PYTHON:-}" ]; then
  . scripts/venv.sh
  venv hf "$dir" "$here/requirements.txt" transformers
fi
if [ "${1:-}" = --vectors ]; then
  "$python" "$here/families.py" "$here/testdata" tiny
  exec chmod 644 "$here"/testdata/*/*
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/cases"
"$python" "$here/families.py" "$work/cases"
PTC_HF_CASES=$work/cases go test -count=1 ./bench/hf
"$python" "$here/check.py" bin/ptc "$work/cases" "$work"
"$python" "$here/ggufs.py" bin/ptc "$work/cases" "$work" runtime/tokenizer/testdata
"$python" "$here/adapters.py" bin/ptc "$work/cases" "$work"

# Configs with keys left out, null, or what the class takes anyway, in both directions.
"$python" "$here/drawn.py" --table
mkdir "$work/drawn" "$work/exports"
"$python" "$here/drawn.py" "$work/drawn" "${HF_DRAWN:-100}" "${HF_SEED:-1}"
PTC_HF_DRAWN=$work/drawn PTC_HF_EXPORTS=$work/exports go test -count=1 -run TestDrawn ./bench/hf
"$python" "$here/drawn.py" --exports "$work/drawn" "$work/exports"
