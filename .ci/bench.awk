# Prints the output of `go test -bench` as a table: benchmarks by package, every
# figure with its unit, and the ratios (units "ratio" and "x_...")
# once more at the end.
/^pkg: / { print "\n" $2; next }
/^(goos|goarch): / { next }
/^cpu: / { if (!cpu++) print; next }
/^Benchmark/ {
	name = $1; sub(/^Benchmark/, "", name); sub(/-[0-9]+$/, "", name)
	row = ""
	for (i = 3; i < NF; i += 2) {
		row = row sprintf("  %14s %-12s", $i, $(i + 1))
		if ($(i + 1) ~ /^(x_|ratio)/) ratio[++ratios] = sprintf("  %-52s %10s %s", name, $i, $(i + 1))
	}
	printf "  %-52s%s\n", name, row
	next
}
/^PASS$/ { next }
/^(ok|FAIL|---|panic)/ { print; if (/^(FAIL|---|panic)/) bad = 1; next }
{ print "  " $0 }
END {
	if (ratios) { print "\nratios"; for (i = 1; i <= ratios; i++) print ratio[i] }
	exit bad
}
