#!/usr/bin/env bash
# Makes a machine ready to build, train and test: checks Go, builds bin/ptc, and
# installs libLLVM from the distribution where ptc finds none. ptc works without
# LLVM too, on its reference backend and more slowly, so that a library that
# cannot be installed is told and is no failure.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}

say() { printf 'setup: %s\n' "$*" >&2; }

need=$(sed -nE 's/^go ([0-9.]+).*/\1/p' go.mod)
if ! command -v "$go" >/dev/null; then
  say "Go is not installed. Install Go $need or later: https://go.dev/doc/install"
  exit 1
fi
# Since 1.21, Go fetches by itself the version that go.mod asks for, and then
# names that one here.
have=$("$go" version 2>/dev/null | sed -nE 's/^go version go([0-9.]+).*/\1/p') || have=""
if [ -z "$have" ] || [ "$(printf '%s\n%s\n' "$need" "$have" | sort -V | head -n 1)" != "$need" ]; then
  say "this is Go ${have:-of an unknown version}; ptc needs $need or later: https://go.dev/doc/install"
  exit 1
fi

make --no-print-directory build GO="$go"

if bin/ptc doctor --require llvm >/dev/null 2>&1; then
  exit 0
fi
if [ -n "${PTC_LLVM:-}" ]; then
  say "PTC_LLVM is '$PTC_LLVM', so no LLVM is installed; what follows runs on the reference backend"
  exit 0
fi

package=libllvm19
without="ptc goes on without it: plans run on the reference backend, many times slower. Later, install it with: apt-get install $package"
if ! command -v apt-get >/dev/null; then
  say "libLLVM is missing and there is no apt-get to install it with. $without"
  exit 0
fi
sudo=""
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
    say "libLLVM is missing, and installing it needs root. $without"
    exit 0
  fi
  sudo="sudo -n"
fi

say "installing $package from the distribution"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Without a network, or behind another apt-get, this gives up in good time.
apt() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o DPkg::Lock::Timeout=60 "$@"; }
install() { apt install -y --no-install-recommends "$package"; }
# The lists of a fresh container are empty, those of an old machine stale.
if install >"$log" 2>&1 || { apt update && install; } >"$log" 2>&1; then
  if bin/ptc doctor --require llvm >/dev/null 2>&1; then
    say "$package is installed"
    exit 0
  fi
  say "$package is installed, and still ptc finds no libLLVM it can use: see bin/ptc doctor"
  exit 0
fi
say "$package could not be installed: $(tail -n 1 "$log")"
say "$without"
