#!/usr/bin/env bash
# Builds everything written in Go:
#   .ci/guests/go.sh OUT
# It writes OUT/<example>.wasm and OUT/conformance/go{,-script}.wasm. Their native tests
# are part of make test. GO is the go command.
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: $0 OUT" >&2; exit 64; }
mkdir -p "$1/conformance"
out=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)

# build FOLDER TARGET FLAGS...: builds without data about the place and the user of the
# build.
build() {
  local folder=$1 target=$2
  shift 2
  (cd "$folder" && GOOS=wasip1 GOARCH=wasm CGO_ENABLED=0 "${GO:-go}" build "$@" -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o "$target" .)
  echo "go: ${target#"$out"/}"
}

for folder in "$root"/plugins/examples/*-go; do
  mode=-buildmode=c-shared
  # A script is a program, everything else a reactor.
  if grep -q '/abi/go/script"' "$folder/main.go"; then mode=-buildmode=default; fi
  build "$folder" "$out/$(basename "$folder").wasm" $mode
done
build "$root/abi/go/conformance" "$out/conformance/go.wasm" -buildmode=c-shared
build "$root/abi/go/conformance/script" "$out/conformance/go-script.wasm"
