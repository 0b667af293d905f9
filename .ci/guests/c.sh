#!/usr/bin/env bash
# Builds and tests everything written in C:
#   .ci/guests/c.sh OUT
# It writes OUT/<example>.wasm and OUT/conformance/c{,-script}.wasm. CC is the compiler of
# modules (clang-19, or else clang), HOSTCC the one of native tests (cc, or else CC). Exit
# 77: the toolchain is missing; with WASMJOBD_STRICT=1 root installs it from Debian first.
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: $0 OUT" >&2; exit 64; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
sdk=$root/abi/c
work=$root/build/c
mkdir -p "$work" "$out/conformance"

packages="clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32"
[ -n "${CC:-}" ] || CC=$(command -v clang-19 || command -v clang || echo clang-19)
wasi="--target=wasm32-wasi --sysroot=${WASI_SYSROOT:-/usr}"
# A whole program is tried: each of the packages is needed for that.
# shellcheck disable=SC2086
works() { echo 'int main(void) { return 0; }' | "$CC" $wasi -x c -o "$work/try.wasm" - 2>"$work/try.log"; }
if ! works && [ "${WASMJOBD_STRICT:-}" = 1 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  # shellcheck disable=SC2086
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $packages; } >"$work/apt.log" 2>&1 ||
    { tail -n 20 "$work/apt.log"; echo "c: apt-get failed"; exit 1; }
  CC=clang-19
fi
works || { echo "c: skipped: clang with lld and wasi-libc is missing (apt-get install $packages)"; exit 77; }
HOSTCC=${HOSTCC:-$(command -v cc || echo "$CC")}

warn="-std=c11 -Wall -Wextra -Wpedantic -Werror"
link="-Os -flto -Wl,--strip-all -Wl,-z,stack-size=65536 -Wl,--stack-first"
# shellcheck disable=SC2086
{
  reactor() { "$CC" $wasi -mexec-model=reactor $warn $link -I"$sdk" -o "$@"; }
  program() { "$CC" $wasi $warn $link -o "$@"; }
  bare() { "$CC" --target=wasm32-unknown-unknown -nostdlib -ffreestanding -fno-builtin $warn $link -Wl,--no-entry -I"$sdk" -o "$@"; }
  native() { "$HOSTCC" $warn -g -DWASMJOB_NATIVE -I"$sdk" -o "$@" -lm; }
}
tests() { "$2" >"$work/test.log" 2>&1 || { cat "$work/test.log"; echo "c: $1: tests failed"; exit 1; }; echo "c: $1: $(tail -n 1 "$work/test.log")"; }

cd "$sdk"
guest="conformance/guest.c conformance/execute.c conformance/flow.c conformance/deal.c"
# shellcheck disable=SC2086
reactor "$out/conformance/c.wasm" $guest
program "$out/conformance/c-script.wasm" conformance/script.c
# shellcheck disable=SC2086
native "$work/conformance" $guest test/conformance_test.c
tests conformance "$work/conformance"
# The job in README.md must pass the test there. block HEADER prints the block that includes it.
rm -rf "$work/readme" && mkdir "$work/readme"
block() { awk -v with="#include \"$1\"" '/^```/ { if (index(text, with)) printf "%s", text; text = ""; next } { text = text $0 "\n" }' README.md; }
block wasmjob.h >"$work/readme/job.c"
block wasmjob_fake.h >"$work/readme/job_test.c"
reactor "$work/readme/job.wasm" "$work/readme/job.c"
native "$work/readme/test" "$work/readme/job.c" "$work/readme/job_test.c"
"$work/readme/test" || { echo "c: README.md: its job does not pass its test"; exit 1; }
bare "$work/bare.wasm" test/bare.c # without a C library: the test is that it links

for folder in "$root"/plugins/examples/*-c; do
  name=$(basename "$folder")
  cd "$folder"
  mapfile -t sources < <(find . -name '*.c' ! -name '*_test.c' | LC_ALL=C sort)
  reactor "$out/$name.wasm" "${sources[@]}"
  native "$work/$name" ./*.c
  tests "$name" "$work/$name"
done
