#!/usr/bin/env bash
# Tries data and checkpoints in an object store with MinIO's server, see doc.go. The server is built from its Go
# module into MINIO_DIR, a folder outside of the tree: by default ptc-minio in the user's cache.
# MINIO names a server that is there already.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
version=v0.0.0-20260212201848-7aac2a2c5b7c
dir=${MINIO_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ptc-minio}
server=${MINIO:-}
if [ -z "$server" ]; then
  server=$dir/$version/minio
  if [ ! -x "$server" ]; then
    mkdir -p "$dir/$version"
    (cd / && CGO_ENABLED=0 GOFLAGS=-trimpath GOBIN="$dir/$version" go install "github.com/minio/minio@$version") ||
      { echo "minio: the server could not be built from its Go module" >&2; exit 2; }
  fi
fi
go run ./bench/minio "$server"
