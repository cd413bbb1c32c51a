#!/usr/bin/env bash
# Compares translations of published launch configurations by the parsers of their software: `bench/launch/run.sh`. See doc.go.
# Sources of the software come from GitHub, or where LAUNCH_GIT says, into a folder that is removed; LAUNCH_SOURCES names
# one that has them. Python's packages come from its registry into LAUNCH_DIR, by default ptc-launch in the user's cache.
# LAUNCH_PYTHON names a Python that has them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
export PYTHONDONTWRITEBYTECODE=1
dir=${LAUNCH_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ptc-launch}
python=${LAUNCH_PYTHON:-$dir/bin/python}
if [ -z "${LAUNCH_PYTHON:-}" ]; then
  . scripts/venv.sh
  venv launch "$dir" "$here/requirements.txt" "what the parsers import"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sources=${LAUNCH_SOURCES:-$work/sources}
if [ -z "${LAUNCH_SOURCES:-}" ]; then
  while read -r name repository commit; do
    git init -q "$sources/$name"
    git -C "$sources/$name" fetch -q --depth 1 "${LAUNCH_GIT:-https://github.com}/$repository" "$commit"
    git -C "$sources/$name" checkout -q FETCH_HEAD
  done <"$here/sources.txt"
fi
"$python" "$here/check.py" "${PTC:-bin/ptc}" "$sources" "$work"
