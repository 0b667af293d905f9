#!/usr/bin/env bash
# Builds the guests of every language whose toolchain this machine has:
#   .ci/guests/all.sh OUT LANGUAGE...
# It ends with a list of what was left out, also in OUT/guests-left-out.log. With
# WASMJOBD_STRICT=1 leaving out a language is a failure.
# WASMJOBD_STRICT=1 leaving out is failing.
set -euo pipefail

[ $# -ge 2 ] || { echo "usage: $0 OUT LANGUAGE..." >&2; exit 64; }
out=$1
shift
mkdir -p "$out"
failed=() left=() parts=()
for language in "$@"; do
  status=0
  "$(dirname "$0")/$language.sh" "$out" >"$out/guests-$language.log" 2>&1 || status=$?
  cat "$out/guests-$language.log"
  case $status in
  0) while read -r line; do parts+=("$line"); done < <(grep ': left out: ' "$out/guests-$language.log") ;;
  77) left+=("$(tail -n 1 "$out/guests-$language.log")") ;;
  *) failed+=("$language") ;;
  esac
done
for line in ${left[@]+"${left[@]}"} ${parts[@]+"${parts[@]}"}; do echo "guests: left out: $line"; done | tee "$out/guests-left-out.log"
if [ ${#failed[@]} -gt 0 ]; then echo "guests: failed: ${failed[*]}"; exit 1; fi
if [ ${#left[@]} -gt 0 ] && [ "${WASMJOBD_STRICT:-}" = 1 ]; then exit 1; fi
