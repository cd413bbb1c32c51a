#!/usr/bin/env bash
# Holds the families of std.models to transformers: `bench/hf/run.sh`, or with --vectors writes testdata anew. See doc.go.
# Python's packages come from its registry into HF_DIR, a folder outside of the tree: by default ptc-hf in the user's
# cache. HF_PYTHON names a Python that has them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
export HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error PYTHONDONTWRITEBYTECODE=1
dir=${HF_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ptc-hf}
python=${HF_PYTHON:-$dir/bin/python}
if [ -z "${HF_PYTHON:-}" ] && ! cmp -s "$here/requirements.txt" "$dir/requirements.txt"; then
  echo "hf: installing transformers into $dir" >&2
  rm -rf "$dir"
  "${PYTHON:-python3}" -m venv "$dir" || { echo "hf: no virtual environment; sudo apt-get install python3 python3-venv" >&2; exit 2; }
  "$python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt" ||
    { echo "hf: the packages could not be installed from the Python registry" >&2; exit 2; }
  # The copy of the requirements is written last: without it the environment is unfinished.
  cp "$here/requirements.txt" "$dir/requirements.txt"
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
