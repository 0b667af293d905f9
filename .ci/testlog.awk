# Reads the list of guests that were left out and the output of `go test -v`, and prints
# what a person needs of it: a line for each package, everything of a failed package, and
# at the end what was left out and what failed, with the reasons. It fails if a test
# failed, or, with WASMJOBD_STRICT=1, if one was left out.

# Names of tests are unique within a package.
function forget(  name) { lines = 0; test = ""; why = ""; building = 0; for (name in said) delete said[name]; for (name in bad) delete bad[name] }

# Shows everything of a failed package, except for the names of tests that passed.
function tell(  i) {
	for (i = 1; i <= lines; i++)
		if (held[i] !~ /^ *(=== (RUN|PAUSE|CONT|NAME)|--- (PASS|SKIP))/) print held[i]
}

# Collects the failed tests of a package, without those that failed only because of a
# subtest.
function blame(package,  name, other, within, some) {
	for (name in bad) {
		within = 0
		for (other in bad) if (index(other, name "/") == 1) within = 1
		if (!within) { bads[++blamed] = package ": " name (said[name] == "" ? "" : ": " said[name]); some = 1 }
	}
	if (!some) bads[++blamed] = package ": " (why == "" ? "no test says why" : why)
}

/^guests: left out: / { sub(/^guests: left out: /, "guests of "); sub(/: (skipped|left out): /, ": "); out[++skips] = $0; guests++; next }
/^=== (RUN|CONT|NAME)/ { test = $3 }
/^# / { building = 1 } # errors of the compiler, shown as they come
/^ +[A-Za-z0-9_]+\.go:[0-9]+: / { said[test] = $0; sub(/^ +[A-Za-z0-9_]+\.go:[0-9]+: /, "", said[test]) }
/^panic: / && why == "" { why = $0 }
/^ *--- SKIP: / { reason = said[$3]; sub(/^left out: /, "", reason); out[++skips] = $3 ": " (reason == "" ? "no reason given" : reason) }
/^ *--- FAIL: / { bad[$3] = 1 }
/^ *--- (PASS|SKIP|FAIL): / && $0 !~ /^ / { count[$2]++ }

/^ok  ?\t/ || /^\?? *\t.*\[no test files\]/ { if ($0 !~ /no test files/) { print; packages++ } forget(); fflush(); next }
/^FAIL\t/ {
	tell(); print
	if (match($0, /\[.*\]$/)) why = substr($0, RSTART)
	blame($2); forget(); failed++; fflush(); next
}
/^-test\.shuffle / { next }
building && !/^(===|---) / { print; next }
{ held[++lines] = $0 }

END {
	# Lines that belong to no package: an error of the go command itself.
	if (lines) tell()
	for (i = 1; i <= lines; i++) if (held[i] ~ /^(go: |make|FAIL|.*cannot find)/) broken = 1
	printf "\n%d packages passed, %d failed; tests: %d passed, %d failed, %d left out\n", packages, failed, count["PASS:"], count["FAIL:"], skips - guests
	if (skips) {
		print "left out:"
		for (i = 1; i <= skips; i++) print "  " out[i]
	}
	if (blamed) {
		print "failed (all that was printed is in build/test.log):"
		for (i = 1; i <= blamed; i++) print "  " bads[i]
	}
	if (broken || packages + failed == 0) print "not all was run: see above"
	if (failed || broken || packages == 0) exit 1
	if (skips && ENVIRON["WASMJOBD_STRICT"] == "1") {
		print "WASMJOBD_STRICT=1: nothing may be left out"
		exit 1
	}
}
