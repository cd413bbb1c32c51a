#!/usr/bin/env bash
# Runs tests of native code for arm64 under an emulator: `bench/arm/run.sh [-run REGEX] [PACKAGE]...`,
# see doc.go. The libraries of arm64 that the tests load, libLLVM among them, come from the distribution
# into ARM_DIR, a folder outside of the tree: by default ptc-arm in the user's cache. Nothing is
# installed but the emulator, and that only by whoever is asked to.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
dir=${ARM_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ptc-arm}
qemu=${QEMU:-qemu-aarch64}
command -v "$qemu" >/dev/null || { echo "arm: there is no $qemu; sudo apt-get install qemu-user" >&2; exit 2; }

# The file "done" is written last: without it the folder is unfinished.
if [ ! -e "$dir/done" ]; then
  command -v apt-get >/dev/null || { echo "arm: there is no apt-get to download libraries of arm64 with" >&2; exit 2; }
  echo "arm: downloading libraries of arm64 into $dir" >&2
  rm -rf "$dir"
  mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" "$dir/root"
  touch "$dir/apt/status"
  # A list of packages of its own, in which nothing is installed: what is downloaded is all that is needed.
  apt() {
    apt-get -qq -oAPT::Architecture=arm64 -oAPT::Architectures=arm64 -oDir::State::Lists="$dir/apt/lists" \
      -oDir::State::status="$dir/apt/status" -oDir::Cache="$dir/apt/cache" -oDebug::NoLocking=true "$@"
  }
  apt update
  apt install --download-only --no-install-recommends -y libllvm19
  for package in "$dir"/apt/cache/archives/*.deb; do dpkg-deb --extract "$package" "$dir/root"; done
  rm -rf "$dir/apt"
  touch "$dir/done"
fi

# Tests that start themselves again do so by this as well.
export PTC_TEST_EXEC="$qemu -cpu max -L $dir/root"
if [ $# -eq 0 ]; then
  set -- ./runtime/native ./backend/llvm ./backend/cpu/emit ./backend/kernel/gemm ./bench/arm
fi
GOOS=linux GOARCH=arm64 CGO_ENABLED=0 exec "${GO:-go}" test -count 1 -timeout 0 -exec "$PTC_TEST_EXEC" "$@"
