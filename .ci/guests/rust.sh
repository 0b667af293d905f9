#!/usr/bin/env bash
# Builds and tests everything written in Rust:
#   .ci/guests/rust.sh OUT
# It writes OUT/<example>.wasm and OUT/conformance/rust{,-script}.wasm. Other folders and
# compilers give other bytes, so the built files in the folders of examples are not
# compared; UPDATE=1 replaces them. WASMJOBD_STRICT=1 fetches missing targets with rustup.
# Exit 77: the toolchain is missing.
set -euo pipefail

skip() { echo "rust: skipped: $1"; exit 77; }

[ $# -eq 1 ] || { echo "usage: $0 OUT" >&2; exit 64; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
sdk=$root/abi/rust
export CARGO_TARGET_DIR=$root/build/rust

{ command -v cargo && command -v rustc; } >/dev/null || skip "cargo is missing (rustup.rs, or the package rustup)"
release=$(rustc --version 2>/dev/null | awk '{ split($2, v, "."); print v[1] * 1000 + v[2] }')
(( release >= 1082 )) || skip "Rust 1.82 is needed, there is: $(rustc --version 2>&1 | tail -n 1)"

has_std() { compgen -G "$(rustc --print target-libdir --target "$1")/libstd-*.rlib" >/dev/null; }
job=wasm32-unknown-unknown script=wasm32-wasip1
for target in $job $script; do
  has_std $target && continue
  if [ "${WASMJOBD_STRICT:-}" = 1 ] && command -v rustup >/dev/null; then rustup --quiet target add $target || true; fi
  has_std $target || skip "the target $target is missing (rustup target add $target)"
done

# Panics report their position with a path that does not depend on the machine.
remap="\"--remap-path-prefix=$root/=/\", \"--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo\""
build() { # build PACKAGE TARGET FILE NAME: builds in the current folder
  cargo build --quiet --locked --release --target "$2" -p "$1" --config "target.$2.rustflags=[$remap]"
  cp "$CARGO_TARGET_DIR/$2/release/$3.wasm" "$out/$4.wasm"
}

tests() { # tests NAME: tests the current folder; shows the output only on failure
  local log=$CARGO_TARGET_DIR/test.log
  { { ! cargo fmt --version >/dev/null || cargo fmt --all --check; } &&
    { ! cargo clippy --version >/dev/null || cargo clippy --quiet --locked --workspace --all-targets -- -D warnings; } &&
    cargo test --quiet --locked --workspace; } >"$log" 2>&1 || { cat "$log"; echo "rust: $1: tests failed"; exit 1; }
  awk -v name="$1" '/^test result: ok/ { n += $4 } END { printf "rust: %s: %d tests passed\n", name, n; exit n == 0 }' "$log"
}

mkdir -p "$out/conformance" "$CARGO_TARGET_DIR"
cd "$sdk"
tests sdk
cd "$sdk/anyhow" # the only crate with fetched dependencies
if cargo fetch --quiet --locked 2>"$CARGO_TARGET_DIR/fetch.log"; then tests anyhow; else
  echo "rust: anyhow: left out: crates.io is not reachable, and the crate is not in cargo's cache"
  [ "${WASMJOBD_STRICT:-}" != 1 ] || { cat "$CARGO_TARGET_DIR/fetch.log"; exit 1; }
fi
cd "$sdk/conformance"
tests conformance
build conformance $job conformance conformance/rust
build conformance-script $script conformance-script conformance/rust-script

for folder in "$root"/plugins/examples/*-rust; do
  name=$(basename "$folder")
  cd "$folder"
  tests "$name"
  if [ -e src/main.rs ]; then build "$name" $script "$name" "$name"; else build "$name" $job "${name//-/_}" "$name"; fi
  [ "${UPDATE:-}" != 1 ] || [ ! -e "$name.wasm" ] || cp "$out/$name.wasm" "$name.wasm"
done
