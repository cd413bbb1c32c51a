#!/usr/bin/env bash
# Compares training by ptc with training by JAX: `bench/parity/run.sh [CASE…]`.
# Makes a virtual environment, by default .venv/parity below the project's root,
# which may be removed at any time. PYTHON names the interpreter to make it
# with, PARITY_VENV another folder, PTC another binary than bin/ptc.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=${PARITY_VENV:-$root/.venv/parity}
python=${PYTHON:-python3}

if ! command -v "$python" >/dev/null; then
  echo "parity: $python is not there; sudo apt-get install python3 python3-venv" >&2
  exit 2
fi
# The copy of the requirements is written last: without it the environment is
# unfinished, or made from other requirements.
if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
  echo "parity: installing JAX into $venv" >&2
  rm -rf "$venv"
  if ! "$python" -m venv "$venv"; then
    echo "parity: no virtual environment; sudo apt-get install python3-venv" >&2
    exit 2
  fi
  if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"; then
    echo "parity: JAX could not be installed from the Python registry" >&2
    exit 2
  fi
  cp "$here/requirements.txt" "$venv/requirements.txt"
fi

export PYTHONDONTWRITEBYTECODE=1
if ! "$venv/bin/python" "$here/test_parity.py" -q >"$venv/selftest.log" 2>&1; then
  cat "$venv/selftest.log" >&2
  echo "parity: the reference fails its own tests" >&2
  exit 2
fi
exec "$venv/bin/python" "$here/parity.py" --ptc "${PTC:-$root/bin/ptc}" "$@"
