package metrics

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/reason"
)

const (
	rulesFile     = "../../docs/monitoring/alerts.yml"
	dashboardFile = "../../docs/monitoring/dashboard.json"
)

// dashboard holds the parts of a Grafana dashboard that are checked.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
	Templating struct {
		List []struct {
			Name  string
			Query any
		}
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Panels) == 0 {
		t.Fatal("no panel")
	}
	return d
}

// used matches a metric of ours with its selector, labels the labels in a selector, groups a by
// clause.
var (
	used   = regexp.MustCompile(`\b` + prefix + `([a-z_]+)(?:\{([^}]*)\})?`)
	labels = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	groups = regexp.MustCompile(`by \(([a-z_, ]+)\)`)
)

// faults returns the metrics and labels of an expression that the table lacks.
func faults(expr string) (all []string) {
	known := []string{"instance", "le"} // labels of every target, and of histograms
	for _, m := range used.FindAllStringSubmatch(expr, -1) {
		k := slices.IndexFunc(table, func(row metric) bool {
			return row.name == m[1] || row.kind == histogram && (m[1] == row.name+"_bucket" || m[1] == row.name+"_count" || m[1] == row.name+"_sum")
		})
		if k < 0 {
			all = append(all, "metric "+m[1])
			continue
		}
		own := slices.Clone(table[k].labels)
		if i := slices.Index(own, jobLabel); i >= 0 {
			own[i] = "exported_job" // Prometheus renames it, since targets have a job label
		}
		known = append(known, own...)
		for _, l := range labels.FindAllStringSubmatch(m[2], -1) {
			if l[1] != "instance" && !slices.Contains(own, l[1]) {
				all = append(all, "label "+l[1]+" of "+m[1])
			}
		}
	}
	for _, g := range groups.FindAllStringSubmatch(expr, -1) {
		for l := range strings.SplitSeq(g[1], ",") {
			if l = strings.TrimSpace(l); !slices.Contains(known, l) {
				all = append(all, "label "+l)
			}
		}
	}
	return all
}

// Alerting rules and dashboard use only metrics and labels of the table.
func TestMonitoringNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	exprs := map[string]string{}
	for block := range strings.SplitSeq(string(rules), "- alert: ") {
		if name, rest, ok := strings.Cut(block, "\n"); ok && strings.Contains(rest, "expr:") {
			exprs[name] = rest
		}
	}
	if len(exprs) != strings.Count(string(rules), "expr:") {
		t.Errorf("%d rules found", len(exprs))
	}
	d := readDashboard(t)
	for _, p := range d.Panels {
		for i, target := range p.Targets {
			exprs[fmt.Sprint(p.Title, " ", i)] = target.Expr
		}
	}
	for _, v := range d.Templating.List {
		exprs["variable "+v.Name] = fmt.Sprint(v.Query)
	}
	for name, expr := range exprs {
		for _, fault := range faults(expr) {
			t.Errorf("%s: there is no %s", name, fault)
		}
	}
	for expr, want := range map[string]string{
		`sum by (cause) (wasmjobd_fires_total{job="a"})`:     "label job of fires_total",
		`wasmjobd_fire_total`:                                "metric fire_total",
		`sum by (worker) (wasmjobd_running)`:                 "label worker",
		`wasmjobd_missed_total{exported_job=~"a",cause="b"}`: "label cause of missed_total",
		`wasmjobd_running_bucket`:                            "metric running_bucket",
	} {
		if got := faults(expr); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

// Prometheus accepts the alerting rules and the dashboard's expressions, and the rules fire
// when they should.
func TestPrometheusReadsTheMonitoring(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("left out: promtool is missing; apt-get install prometheus")
	}
	dir := t.TempDir()
	place := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, from := range map[string]string{"alerts.yml": rulesFile, "alerts_test.yml": "testdata/alerts_test.yml"} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		place(name, text)
	}
	// Expressions of the dashboard are checked as recording rules.
	var b strings.Builder
	b.WriteString("groups:\n  - name: dashboard\n    rules:\n")
	variables := strings.NewReplacer("$__rate_interval", "1m")
	for i, p := range readDashboard(t).Panels {
		for k, target := range p.Targets {
			expr, err := json.Marshal(variables.Replace(target.Expr))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "      - record: panel_%d_%d\n        expr: %s\n", i, k, expr)
		}
	}
	place("dashboard.yml", []byte(b.String()))
	for _, args := range [][]string{{"check", "rules", "alerts.yml", "dashboard.yml"}, {"test", "rules", "alerts_test.yml"}} {
		c := exec.CommandContext(t.Context(), promtool, args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// Prometheus's promtool finds no fault in a server's metrics.
func TestPrometheusReadsTheMetrics(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("left out: promtool is missing; apt-get install prometheus")
	}
	m := New(Options{})
	m.Count(rowOf("a \"job\"\n", "succeeded", reason.Reason{}))
	_, text := ask(m.Handler(), "GET", "/metrics")
	c := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	c.Stdin = strings.NewReader(text + "\n")
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
