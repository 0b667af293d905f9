package arch

import (
	"slices"
	"strings"
	"testing"
)

// owners gives each library a single importer, so that the library can be replaced there.
var owners = map[string]string{
	"github.com/tetratelabs/wazero":   "host/internal/sandbox",
	"github.com/robfig/cron/v3":       "host/internal/schedule",
	"github.com/BurntSushi/toml":      "host/config",
	"database/sql":                    "host/trace/sqltrace",
	"net/http":                        "host/internal/outbound", // requests of guests; see also furtherImporters
	"github.com/go-zookeeper/zk":      "host/registry/zk",
	"modernc.org/sqlite":              "cmd/wasmjobd",
	"github.com/jackc/pgx/v5":         "cmd/wasmjobd",
	"github.com/go-sql-driver/mysql":  "cmd/wasmjobd",
	"github.com/spf13/cobra":          "cmd/wasmjobd",
	"github.com/rogpeppe/go-internal": "cmd/wasmjobd",

	"github.com/prometheus/client_golang": "host/metrics",
	"github.com/wneessen/go-mail":         "host/alert",
	"aead.dev/minisign":                   "host/internal/signature",
	"go.opentelemetry.io/otel":            "host/telemetry",
	"oras.land/oras-go":                   "internal/oci",
}

// furtherImporters lists further importers, whose use is independent of the owner's.
var furtherImporters = map[string][]string{
	// modules between servers, which no grant of a guest concerns; requests of operators;
	// metrics; alerts; registries of artifacts
	"net/http": {"host/internal/peer", "host/admin", "host/metrics", "host/alert", "internal/oci", "internal/connections"},
	// tests check that the servers that they start are ready
	"database/sql": {"host/trace/sqltrace/sqltest"},
}

func TestOneImporterPerDependency(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for _, f := range p.main() {
		for _, s := range f.files {
			for _, spec := range s.imports() {
				if owner := owned(f.rel, importPath(spec), s.test); owner != "" {
					t.Errorf("%s: %s is imported by %s alone", p.at(spec), importPath(spec), owner)
				}
			}
		}
	}
	if owned("host/config", "github.com/tetratelabs/wazero/api", false) == "" {
		t.Error("wazero in host/config was not noticed")
	}
}

// owned returns the owner of imp if that is another package.
func owned(rel, imp string, test bool) string {
	for lib, owner := range owners {
		if !within(imp, lib) || owner == rel || slices.Contains(furtherImporters[lib], rel) {
			continue
		}
		// A test may import the driver or the server that its subject needs.
		if test && (lib == "modernc.org/sqlite" || lib == "github.com/jackc/pgx/v5" || lib == "github.com/go-sql-driver/mysql" || lib == "github.com/tetratelabs/wazero" && rel == "host/internal/meter" ||
			lib == "github.com/go-zookeeper/zk" && rel == "host/internal/cluster" || // a benchmark's rival
			strings.HasPrefix(lib, "net/") || lib == "database/sql") {
			continue
		}
		return owner
	}
	return ""
}
