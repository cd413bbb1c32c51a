#!/usr/bin/env bash
# Compares training by ptc with training by JAX: `bench/parity/run.sh [CASE…]`.
# Makes a virtual environment, by default .venv/parity below the project's root,
# which may be removed at any time. PYTHON names the interpreter to make it
# with, PARITY_VENV another folder, PTC another binary than bin/ptc.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=${PARITY_VENV:-$root/.venv/parity}

. "$root/scripts/venv.sh"
venv parity "$venv" "$here/requirements.txt" JAX

export PYTHONDONTWRITEBYTECODE=1
if ! "$venv/bin/python" "$here/test_parity.py" -q >"$venv/selftest.log" 2>&1; then
  cat "$venv/selftest.log" >&2
  echo "parity: the reference fails its own tests" >&2
  exit 2
fi
exec "$venv/bin/python" "$here/parity.py" --ptc "${PTC:-$root/bin/ptc}" "$@"
