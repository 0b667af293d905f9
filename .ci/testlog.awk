# Reads the output of `go test -v` and prints what a person wants to see of it:
# a line for each package, everything of a package that failed, and at the end
# the tests that were left out, with their reasons. Fails if a test failed, or,
# with WASMJOBD_STRICT=1, if one was left out.

function forget() { lines = 0; test = ""; }

# Of a package that failed everything is shown but the names of what passed.
function tell(  i) {
	for (i = 1; i <= lines; i++)
		if (held[i] !~ /^ *(=== (RUN|PAUSE|CONT|NAME)|--- (PASS|SKIP))/) print held[i]
}

/^=== (RUN|CONT|NAME)/ { test = $3 }
/^ +[A-Za-z0-9_]+\.go:[0-9]+: / { said[test] = $0; sub(/^ +[A-Za-z0-9_]+\.go:[0-9]+: /, "", said[test]) }
/^ *--- SKIP: / { why = said[$3]; sub(/^left out: /, "", why); out[++skips] = $3 ": " (why == "" ? "no reason given" : why) }
/^ *--- (PASS|SKIP|FAIL): / && $0 !~ /^ / { count[$2]++ }

/^ok  ?\t/ || /^\?? *\t.*\[no test files\]/ { if ($0 !~ /no test files/) { print; packages++ } forget(); fflush(); next }
/^FAIL\t/ { tell(); print; forget(); failed++; fflush(); next }
/^-test\.shuffle / { print_later = $0 }
{ held[++lines] = $0 }

END {
	# What belongs to no package: an error of the go command itself.
	if (lines) tell()
	for (i = 1; i <= lines; i++) if (held[i] ~ /^(go: |make|FAIL|.*cannot find)/) broken = 1
	printf "\n%d packages passed, %d failed; tests: %d passed, %d failed, %d left out\n", packages, failed, count["PASS:"], count["FAIL:"], count["SKIP:"]
	if (skips) {
		print "left out:"
		for (i = 1; i <= skips; i++) print "  " out[i]
	}
	if (failed || broken || packages == 0) exit 1
	if (skips && ENVIRON["WASMJOBD_STRICT"] == "1") {
		print "WASMJOBD_STRICT=1: nothing may be left out"
		exit 1
	}
}
