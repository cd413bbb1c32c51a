#!/usr/bin/env bash
# Trains the example for a few steps with `--log tb:DIR`, and reads what was written with
# TensorBoard's EventAccumulator. PYTHON names a Python that has tensorboard; else one is
# made with it in PEERS_DIR, a folder outside of the tree, by default ptc-events in the
# user's cache.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
python=${PYTHON:-}
if [ -z "$python" ]; then
  dir=${PEERS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ptc-events}
  python=$dir/bin/python
  if ! "$python" -c 'import tensorboard' 2>/dev/null; then
    echo "events: installing TensorBoard into $dir" >&2
    python3 -m venv "$dir" || { echo "events: no virtual environment; sudo apt-get install python3 python3-venv" >&2; exit 2; }
    "$python" -m pip install --quiet --disable-pip-version-check tensorboard ||
      { echo "events: TensorBoard could not be installed from the Python registry" >&2; exit 2; }
  fi
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bin/ptc compile examples/gpt/gpt.ptl --target ref -q -o "$tmp/plan.bin" --layout single \
  --set layers=1 --set embed=16 --set heads=2 --set head=8 --set seq=16 --set batch=4
bin/ptc run "$tmp/plan.bin" --steps 4 --eval-every 2 --log "tb:$tmp/tb" --log "json:$tmp/log.jsonl" >"$tmp/out"
"$python" "$here/events.py" "$tmp/tb" "$tmp/log.jsonl"
