#!/usr/bin/env bash
# Builds everything written for TinyGo:
#   .ci/guests/tinygo.sh OUT
# It writes OUT/<example>.wasm and OUT/conformance/tinygo{,-script}.wasm. It uses TINYGO,
# or the tinygo on PATH. Without one it builds TinyGo once, into
# build/tools/tinygo/source/build, from the Go module and Debian's LLVM; put that on PATH
# to build the projects of "wasmjobd new --lang tinygo". Exit 77: the toolchain is
# missing; with WASMJOBD_STRICT=1 root installs it from Debian first.
set -euo pipefail

version=v0.41.1 # given by name, because not every proxy lists the versions of this module
packages="g++ llvm-19-dev libclang-19-dev clang-19 lld-19 binaryen wasi-libc libclang-rt-19-dev-wasm32"

skip() { echo "tinygo: skipped: $1"; exit 77; }

[ $# -eq 1 ] || { echo "usage: $0 OUT" >&2; exit 64; }
mkdir -p "$1/conformance"
out=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
tools=$root/build/tools/tinygo

# The packages to build and run TinyGo: compiler, linker, wasm-opt, C library.
missing() {
  local name
  for name in g++ clang-19 wasm-ld-19 wasm-opt; do command -v $name >/dev/null || { echo $name; return; }; done
  for name in /usr/lib/llvm-19/include/llvm-c/Core.h /usr/lib/llvm-19/include/clang-c/Index.h \
    /usr/lib/wasm32-wasi/libc.a /usr/lib/llvm-19/lib/clang/19/lib/wasi/libclang_rt.builtins-wasm32.a; do
    [ -e $name ] || { echo $name; return; }
  done
}

# The module's zip has no submodules, so TinyGo's own target wasip1 lacks its C library
# and runtime. tinygo-wasip1.json replaces it and links Debian's, so that commands for any
# TinyGo work with this one. An empty src/net suffices for guests that do not import net.
make_tinygo() {
  local from lack
  lack=$(missing)
  if [ -n "$lack" ] && [ "${WASMJOBD_STRICT:-}" = 1 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    mkdir -p "$root/build/tools"
    # shellcheck disable=SC2086
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $packages; } >"$root/build/tools/apt.log" 2>&1 ||
      { tail -n 20 "$root/build/tools/apt.log"; echo "tinygo: apt-get failed"; exit 1; }
    lack=$(missing)
  fi
  [ -z "$lack" ] || skip "neither tinygo on PATH nor $lack to build it (tinygo.org, or apt-get install $packages)"
  if [ "$(cat "$tools/built" 2>/dev/null)" != "$version" ]; then
    rm -rf "$tools"
    mkdir -p "$tools"
    echo "tinygo: building $version, once"
    (cd "$tools" && "${GO:-go}" mod download -json "github.com/tinygo-org/tinygo@$version" >download.json 2>download.log) ||
      skip "the module github.com/tinygo-org/tinygo@$version cannot be fetched (it needs the network once)"
    from=$(sed -n 's/^\t"Dir": "\(.*\)",$/\1/p' "$tools/download.json")
    cp -r "$from" "$tools/source"
    chmod -R u+w "$tools/source"
    mkdir -p "$tools/source/src/net"
    (cd "$tools/source" && CGO_ENABLED=1 "${GO:-go}" build -tags llvm19 -o build/tinygo .) >"$tools/build.log" 2>&1 ||
      { tail -n 20 "$tools/build.log"; echo "tinygo: it does not build"; exit 1; }
    echo "$version" >"$tools/built"
  fi
  cp "$root/.ci/guests/tinygo-wasip1.json" "$tools/source/targets/wasip1.json"
  TINYGO=$tools/source/build/tinygo
}

[ -n "${TINYGO:-}" ] || TINYGO=$(command -v tinygo || true)
[ -n "$TINYGO" ] || make_tinygo
echo "tinygo: $("$TINYGO" version)"

# build FOLDER FILE MODE
build() {
  (cd "$1" && "$TINYGO" build -target=wasip1 -buildmode="$3" -no-debug -o "$2" .)
  echo "tinygo: ${2#"$out"/}"
}

for folder in "$root"/plugins/examples/*-tinygo; do
  build "$folder" "$out/$(basename "$folder").wasm" c-shared
done
build "$root/abi/go/conformance" "$out/conformance/tinygo.wasm" c-shared
build "$root/abi/go/conformance/script" "$out/conformance/tinygo-script.wasm" default
