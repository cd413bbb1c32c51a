#!/usr/bin/env bash
# Compares ptc with others on this machine: `bench/peers/run.sh [--only REGEX] [--quick] …`, see --help.
# PEERS_DIR is the folder, outside of the tree, for the virtual environment, for files while measuring and
# for results of workloads that are done: by default ptc-peers in the user's cache. PEERS_PYTHON names an
# interpreter that has the packages already, PYTHON one to make the environment with, PTC another binary
# than bin/ptc, LLMC_DIR a checkout of llm.c.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
dir=${PEERS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ptc-peers}
python=${PYTHON:-python3}
export PYTHONDONTWRITEBYTECODE=1
mkdir -p "$dir"
export PEERS_DIR=$dir

for arg; do
  case $arg in -h | --help | --list) exec "$python" "$here/peers.py" "$@" ;; esac
done
if [ -z "${PEERS_PYTHON:-}" ]; then
  . "$root/scripts/venv.sh"
  venv peers "$dir/venv" "$here/requirements.txt" "JAX, PyTorch and MKL"
  PEERS_PYTHON=$dir/venv/bin/python
fi
if ! "$PEERS_PYTHON" "$here/test_peers.py" -q >"$dir/selftest.log" 2>&1; then
  cat "$dir/selftest.log" >&2
  echo "peers: the harness fails its own tests" >&2
  exit 2
fi
exec "$PEERS_PYTHON" "$here/peers.py" --ptc "${PTC:-$root/bin/ptc}" --dir "$dir" "$@"
