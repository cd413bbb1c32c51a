#!/usr/bin/env bash
# Makes a machine ready: checks Go, builds bin/ptc, and installs from the
# distribution what is asked for and ptc does not find:
#
#   scripts/setup.sh [llvm] [mpi] [chromium] [nvim]
#
# ptc works without either, on its reference backend and more slowly, or with
# all devices in one process, so that what cannot be installed is told and is no
# failure. Chromium is for `make report-check` alone.
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

# has NAME: ptc finds it, or was told to do without.
has() {
  case $1 in
    chromium) command -v chromium >/dev/null || command -v google-chrome >/dev/null; return ;;
    llvm) [ -n "${PTC_LLVM:-}" ] && { say "PTC_LLVM is '$PTC_LLVM', so no LLVM is installed"; return 0; } ;;
    mpi) [ -n "${PTC_MPI:-}" ] && { say "PTC_MPI is '$PTC_MPI', so no MPI is installed"; return 0; } ;;
    nvim) command -v nvim >/dev/null; return ;; # a program, of which ptc knows nothing
  esac
  bin/ptc doctor --require "$1" >/dev/null 2>&1
}

sudo=""
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Without a network, or behind another apt-get, this gives up in good time.
apt() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o DPkg::Lock::Timeout=60 "$@"; }
install() { apt install -y --no-install-recommends "$1"; }

# provide NAME PACKAGE WITHOUT: installs PACKAGE if ptc lacks NAME; WITHOUT says
# what it means if that fails.
provide() {
  has "$1" && return 0
  local later="$3 Later, install it with: apt-get install $2"
  if ! command -v apt-get >/dev/null; then
    say "$2 is missing and there is no apt-get to install it with. $later"
    return 0
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
      say "$2 is missing, and installing it needs root. $later"
      return 0
    fi
    sudo="sudo -n"
  fi
  say "installing $2 from the distribution"
  # The lists of a fresh container are empty, those of an old machine stale.
  if ! { install "$2" >"$log" 2>&1 || { apt update && install "$2"; } >"$log" 2>&1; }; then
    say "$2 could not be installed: $(tail -n 1 "$log")"
    say "$later"
  elif has "$1"; then
    say "$2 is installed"
  else
    say "$2 is installed, and still ptc cannot use it: see bin/ptc doctor"
  fi
}

for name in "${@:-llvm}"; do
  case $name in
    llvm) provide llvm libllvm19 "ptc goes on without it: plans run on the reference backend, many times slower." ;;
    mpi) provide mpi openmpi-bin "ptc goes on without it: all devices of a plan run in one process, and the tests of MPI are left out." ;;
    chromium) provide chromium chromium "make report-check cannot try the pages." ;;
    nvim) provide nvim neovim "make editor-check cannot run without it." ;;
    *) say "unknown: $name"; exit 2 ;;
  esac
done
