#!/usr/bin/env bash
# Assembles every module written in WAT:
#   .ci/guests/wat.sh OUT
# It writes OUT/<name>.wasm for the examples, and OUT/wat/<name>.wasm for the conformance
# kit and the hostile modules. It compares each with the .wasm beside its source, byte by
# byte; UPDATE=1 replaces that. Exit 77: the toolchain is missing.
set -euo pipefail

version=1.0.39 # of wabt; another may give other bytes

skip() { echo "wat: skipped: $1"; exit 77; }

[ $# -eq 1 ] || { echo "usage: $0 OUT" >&2; exit 64; }
mkdir -p "$1/wat"
out=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$root/build/wat

command -v node >/dev/null && command -v npm >/dev/null || skip "Node and npm are missing (apt-get install nodejs npm, or nodejs.org)"
mkdir -p "$work"
if [ "$(cat "$work/installed" 2>/dev/null)" != "$version" ]; then
  echo '{"private": true}' >"$work/package.json"
  npm --prefix "$work" install --ignore-scripts --no-audit --no-fund --no-save --loglevel=error "wabt@$version" >"$work/npm.log" 2>&1 ||
    { cat "$work/npm.log"; skip "npm could not fetch wabt@$version (npm install needs the network once)"; }
  echo "$version" >"$work/installed"
fi

count=0
# assemble SOURCE TARGET
assemble() {
  local kept=${1%.wat}.wasm
  "$work/node_modules/.bin/wat2wasm" "$1" -o "$2"
  [ "${UPDATE:-}" != 1 ] || cp "$2" "$kept"
  cmp "$2" "$kept" || { echo "wat: $kept differs from what its source gives: UPDATE=1 $0 OUT"; exit 1; }
  count=$((count + 1))
}
cd "$root"
for source in plugins/examples/*/*.wat; do
  assemble "$source" "$out/$(basename "$(dirname "$source")").wasm"
done
for source in abi/conformance/wat/*.wat cmd/wasmjobd/testdata/hostile/*.wat; do
  assemble "$source" "$out/wat/$(basename "${source%.wat}").wasm"
done
echo "wat: $count modules are what their sources give"
