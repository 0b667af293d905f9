package metrics

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the page")

// TestMetricsPage: docs/METRICS.md matches the table.
func TestMetricsPage(t *testing.T) {
	t.Parallel()
	const page = "../../docs/METRICS.md"
	want := metricsPage()
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/METRICS.md is not the table of metrics: run make generate (%v)", err)
	}
}

func metricsPage() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Metrics

Generated from the table in host/metrics/table.go by `+"`make generate`"+`; do not edit. Each metric is about one server, and is
reset when the server starts. A server also has the metrics of Go (`+"`go_…`"+`) and of its process (`+"`process_…`"+`).

- The label `+"`job`"+` has the name of the job, for the first %d jobs that a server meets; all others share the value `+"`%s`"+`.
- The label `+"`result`"+` has a run's state in the history, `+"`cause`"+` why it began, `+"`reason`"+` a code of [REASONS](REASONS.md).
- A row is counted when the server makes it, even while the history is away. If it still waits when the server's registry
  session ends, it may be counted twice.
- Prometheus calls the label `+"`job`"+` of these metrics `+"`exported_job`"+`, unless the target has `+"`honor_labels: true`"+`.
- [Rules for alerts](monitoring/alerts.yml) and a [dashboard for Grafana](monitoring/dashboard.json) use these names.

| metric | type | labels | what |
|---|---|---|---|
`, maxJobs, other)
	for _, m := range table {
		labels := ""
		if len(m.labels) > 0 {
			labels = "`" + strings.Join(m.labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s%s` | %s | %s | %s |\n", prefix, m.name, m.kind, labels, m.help)
	}
	return b.Bytes()
}
