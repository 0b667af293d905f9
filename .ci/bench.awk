# Prints the output of `go test -bench` as a table: benchmarks by package, every figure
# with its unit. At the end it repeats the ratios (units "ratio" and "x_...") and the
# claims: figures whose unit states a target ("x_unprotected<=2"). A missed claim is
# reported but is no failure, because speed depends on what else the machine does.
/^pkg: / { n = split($2, part, "/"); package = part[n]; print "\n" $2; next }
/^(goos|goarch): / { next }
/^cpu: / { if (!cpu++) print; next }
/^Benchmark/ {
	name = $1; sub(/^Benchmark/, "", name); sub(/-[0-9]+$/, "", name)
	row = ""
	for (i = 3; i < NF; i += 2) {
		unit = $(i + 1)
		if (unit == "ns/op" && $i == 0) continue # the benchmark marks it as meaningless
		if (at = match(unit, /[<>]=/)) {
			most = substr(unit, at, 1) == "<"; target = substr(unit, at + 2); unit = substr(unit, 1, at - 1)
			holds = most ? $i + 0 <= target + 0 : $i + 0 >= target + 0
			missed += !holds
			claim[++claims] = sprintf("  %-44s %10s %-24s %-8s %8s  %s", package "/" name, $i, unit, most ? "at most" : "at least", target, holds ? "yes" : "NO")
		} else if (unit ~ /^(x_|ratio)/) ratio[++ratios] = sprintf("  %-52s %10s %s", package "/" name, $i, unit)
		row = row sprintf("  %14s %-12s", $i, unit)
	}
	printf "  %-52s%s\n", name, row
	fflush()
	next
}
/^PASS$/ { next }
/^(FAIL|--- FAIL|panic)/ { print; bad = 1; next }
/^(ok|---)/ { print; next } # a note of a benchmark begins with --- BENCH
{ print "  " $0 }
END {
	if (ratios) { print "\nratios"; for (i = 1; i <= ratios; i++) print ratio[i] }
	if (claims) { print "\nclaims"; for (i = 1; i <= claims; i++) print claim[i]; printf "  %d of %d hold\n", claims - missed, claims }
	exit bad
}
