#!/usr/bin/env bash
# Builds and tests everything written in AssemblyScript:
#   .ci/guests/assemblyscript.sh OUT
# It writes OUT/<example>.wasm and OUT/conformance/assemblyscript{,-script}.wasm. If the
# folder of an example has a .wasm, the two must be identical; UPDATE=1 replaces it. Exit
# 77: the toolchain is missing.
set -euo pipefail

skip() { echo "assemblyscript: skipped: $1"; exit 77; }

[ $# -eq 1 ] || { echo "usage: $0 OUT" >&2; exit 64; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
sdk=$root/abi/assemblyscript
work=$root/build/assemblyscript

command -v node >/dev/null && command -v npm >/dev/null || skip "Node 20 and npm are missing (apt-get install nodejs npm, or nodejs.org)"
node -e 'process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)' || skip "Node $(node --version) is older than 20 (nodejs.org)"

# The compiler is installed below build/, so that no source folder has a node_modules.
mkdir -p "$work"
if ! cmp -s "$sdk/package-lock.json" "$work/installed.json"; then
  cp "$sdk/package.json" "$sdk/package-lock.json" "$work/"
  npm --prefix "$work" ci --ignore-scripts --no-audit --no-fund --loglevel=error >"$work/npm.log" 2>&1 ||
    { cat "$work/npm.log"; skip "npm could not fetch the compiler (npm ci needs the network once)"; }
  cp "$sdk/package-lock.json" "$work/installed.json"
fi
ln -sfn "$sdk" "$work/node_modules/wasmjob"
asc=$work/node_modules/.bin/asc

# fresh NAME FROM: copies a folder beside node_modules, where compiler and node find the
# SDK.
fresh() { rm -rf "${work:?}/$1"; mkdir "$work/$1"; (cd "$2" && tar --exclude=node_modules --exclude=build -cf - .) | tar -xf - -C "$work/$1"; }
tests() { # tests NAME: runs node's test runner here; shows its output only if it fails
  node --test test/ >"$work/test.log" 2>&1 || { cat "$work/test.log"; echo "assemblyscript: $1: tests failed"; exit 1; }
  awk -v name="$1" '/^# (tests|pass) / { n[$2] = $3 } END { printf "assemblyscript: %s: %d of %d tests passed\n", name, n["pass"], n["tests"]; exit n["tests"] == 0 }' "$work/test.log"
}

mkdir -p "$out/conformance"
fresh sdk "$sdk"
cd "$work/sdk"
"$asc" conformance/index.ts --config asconfig.json --outFile "$out/conformance/assemblyscript.wasm"
"$asc" conformance/script.ts --config asconfig.script.json --outFile "$out/conformance/assemblyscript-script.wasm"
WASMJOB_GUESTS=$out/conformance tests conformance

for folder in "$root"/plugins/examples/*-assemblyscript; do
  name=$(basename "$folder")
  fresh "$name" "$folder"
  cd "$work/$name"
  "$asc" assembly/index.ts --config ../node_modules/wasmjob/asconfig.json --outFile "$out/$name.wasm"
  MODULE=$out/$name.wasm tests "$name"
  kept=$folder/$name.wasm
  [ "${UPDATE:-}" != 1 ] || [ ! -e "$kept" ] || cp "$out/$name.wasm" "$kept"
  [ ! -e "$kept" ] || cmp "$out/$name.wasm" "$kept" || { echo "assemblyscript: $name.wasm differs from what its sources give: UPDATE=1 $0 $1"; exit 1; }
done
