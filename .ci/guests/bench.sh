#!/usr/bin/env bash
# Builds the guests that `make bench` measures, those whose toolchain is there:
#   .ci/guests/bench.sh OUT
# It writes OUT/{go,tinygo,rust,assemblyscript,c}.wasm, the same work in five languages,
# OUT/call/{wasmjob,extism}.wasm, the same source for two hosts, and
# OUT/call/hello-go.wasm, the smallest job in Go. Each is built like the examples of its
# language.
# It prints what was left out; with WASMJOBD_STRICT=1 that is a failure.
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: $0 OUT" >&2; exit 64; }
mkdir -p "$1/call"
out=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
guests=$root/host/internal/meter/testdata
call=$root/host/internal/sandbox/extism/testdata/call
rm -f "$out"/*.wasm "$out"/call/*.wasm # an old guest must not be measured
left=0

skip() { echo "bench: $1: left out: $2"; left=$((left + 1)); }
made() { echo "bench: ${1#"$out"/}"; }

make_go() {
  reactor() { # reactor FOLDER NAME
    (cd "$1" && GOOS=wasip1 GOARCH=wasm CGO_ENABLED=0 GOWORK=off GOFLAGS='' "${GO:-go}" build -buildmode=c-shared -trimpath -buildvcs=false \
      -ldflags='-s -w -buildid=' -o "$out/$2" .)
    made "$2"
  }
  reactor "$guests/guest-go" go.wasm
  reactor "$root/plugins/examples/hello-go" call/hello-go.wasm
}

# Uses the TinyGo that .ci/guests/tinygo.sh has found or built.
make_tinygo() {
  local target=wasip1 command=${TINYGO:-$(command -v tinygo || true)}
  if [ -z "$command" ]; then
    command=$root/build/tools/tinygo/source/build/tinygo
    target=$root/.ci/guests/tinygo-wasip1.json
  fi
  [ -x "$command" ] || { skip tinygo "there is no tinygo (make guests GUESTS=tinygo builds it)"; return; }
  (cd "$guests/guest-go" && GOWORK=off "$command" build -target="$target" -buildmode=c-shared -no-debug -o "$out/tinygo.wasm" .)
  made tinygo.wasm
}

make_rust() {
  local target=wasm32-unknown-unknown host
  command -v cargo >/dev/null && compgen -G "$(rustc --print target-libdir --target $target)/libstd-*.rlib" >/dev/null ||
    { skip rust "cargo or its target $target is missing"; return; }
  (cd "$guests/guest-rust" && rustc --target=$target --crate-type=cdylib -Copt-level=s -Clto -Ccodegen-units=1 -Cpanic=abort -Cstrip=symbols guest.rs -o "$out/rust.wasm")
  made rust.wasm
  for host in wasmjob extism; do
    (cd "$call" && CARGO_TARGET_DIR=$root/build/rust-call cargo build --quiet --locked --release --target $target --features $host)
    cp "$root/build/rust-call/$target/release/call.wasm" "$out/call/$host.wasm"
    made call/$host.wasm
  done
}

# Uses the compiler and the settings of .ci/guests/assemblyscript.sh.
make_assemblyscript() {
  local asc=$root/build/assemblyscript/node_modules/.bin/asc
  command -v node >/dev/null && [ -x "$asc" ] || { skip assemblyscript "there is no asc (make guests GUESTS=assemblyscript fetches it)"; return; }
  (cd "$guests/guest-assemblyscript" && "$asc" guest.ts --runtime incremental --exportStart _initialize --optimizeLevel 3 --shrinkLevel 1 \
    --outFile "$out/assemblyscript.wasm")
  made assemblyscript.wasm
}

make_c() {
  local cc=${CC:-$(command -v clang-19 || command -v clang || echo clang-19)} log=$out/c.log
  "$cc" --target=wasm32-wasi --sysroot="${WASI_SYSROOT:-/usr}" -mexec-model=reactor -std=c11 -Wall -Wextra -Wpedantic -Werror -Os -flto -mbulk-memory \
    -Wl,--strip-all -o "$out/c.wasm" "$guests/guest-c/guest.c" 2>"$log" ||
    { if works; then cat "$log"; exit 1; fi; skip c "clang with lld and wasi-libc is missing (see .ci/guests/c.sh)"; return; }
  made c.wasm
}
works() { echo 'int main(void) { return 0; }' | "${CC:-clang-19}" --target=wasm32-wasi --sysroot="${WASI_SYSROOT:-/usr}" -x c -o "$out/call/try" - 2>/dev/null; }

make_go
make_tinygo
make_rust
make_assemblyscript
make_c
[ $left -eq 0 ] || [ "${WASMJOBD_STRICT:-}" != 1 ]
