#!/usr/bin/env bash
# A session of Neovim with bin/ptc: see doc.go. TREE_SITTER may name the binary of tree-sitter.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v nvim >/dev/null || { echo "editor-check: there is no nvim; scripts/setup.sh nvim installs it" >&2; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp examples/gpt/gpt.ptl "$dir/gpt.ptl"
export XDG_CACHE_HOME=$dir/cache XDG_CONFIG_HOME=$dir/config XDG_DATA_HOME=$dir/data XDG_STATE_HOME=$dir/state
export PTC_BIN=$PWD/bin/ptc EDITOR_REPORT=$dir/report
code=0
timeout 120 nvim --headless -u NONE --cmd "set runtimepath^=$PWD/editors/nvim" -c "luafile bench/editor/session.lua" "$dir/gpt.ptl" >"$dir/out" 2>&1 || code=$?
cat "$dir/report" 2>/dev/null || { echo "editor-check: Neovim ended with $code before any check:" >&2; cat "$dir/out" >&2; exit 1; }
[ "$code" -eq 0 ] || { echo "editor-check: Neovim ended with $code" >&2; cat "$dir/out" >&2; exit 1; }

if [ -z "${TREE_SITTER:-}" ]; then
  echo "not checked: the grammar of tree-sitter, since TREE_SITTER names no binary"
  exit 0
fi
cp -r editors/tree-sitter-ptl "$dir/grammar"
echo '{"name":"tree-sitter-ptl","version":"0.1.0","tree-sitter":[{"scope":"source.ptl","file-types":["ptl"]}]}' >"$dir/grammar/package.json"
cd "$dir/grammar"
"$TREE_SITTER" generate >"$dir/out" 2>&1 || { cat "$dir/out" >&2; exit 1; }
here=$OLDPWD
if "$TREE_SITTER" parse -q "$here"/examples/*/*.ptl "$here"/stdlib/*.ptl >"$dir/out" 2>&1 && ! grep -q ERROR "$dir/out"; then
  echo "ok: tree-sitter parses every example and the standard library"
else
  grep ERROR "$dir/out" >&2 || cat "$dir/out" >&2
  exit 1
fi
