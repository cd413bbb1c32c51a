#!/usr/bin/env bash
# run.sh BASE [FLAGS]: compile the corpus with revision BASE and with this tree, and compare the plans. What
# BASE made is kept below the user's cache, so that comparing with it again takes half the time.
set -euo pipefail
[ -n "${1:-}" ] || { echo "usage: make replay BASE=rev [REPLAY='-full -only TEXT']" >&2; exit 2; }
rev=$(git rev-parse --verify "$1^{commit}"); shift
go=${GO:-go}
kept=${XDG_CACHE_HOME:-$HOME/.cache}/ptc-replay/$rev
dir=$(mktemp -d)
trap 'rm -rf "$dir/src"' EXIT
mkdir -p "$kept" "$dir/src"
if [ ! -x "$kept/ptc" ]; then
  git archive "$rev" | tar -x -C "$dir/src"
  (cd "$dir/src" && "$go" build -buildvcs=false -o "$kept/ptc" ./cmd/ptc)
fi
"$go" build -buildvcs=false -o "$dir/ptc" ./cmd/ptc
"$go" build -o "$dir/replay" ./bench/replay
echo "plans that differ are kept in $dir"
"$dir/replay" -base "$kept/ptc" -next "$dir/ptc" -known "$kept/results.json" -out "$dir" "$@"
