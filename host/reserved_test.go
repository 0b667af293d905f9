package host

import (
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

// Neither a namespace nor a job may have the name of a node for the state of a cluster.
func TestNamesOfTheClustersStateAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ namespace, job, fault string }{
		{"a", "b", ""}, {"a.wasmjobd.b", "wasmjobd", ""},
		{"a.wasmjobd", "b", "namespace"}, {"x/a.wasmjobd/b", "b", "namespace"}, {"a", "b.wasmjobd", "its name ends in .wasmjobd"},
	} {
		_, err := New(Options{Namespace: tt.namespace, Jobs: []job.Config{{Name: tt.job, Shards: 1}}, Runner: Func(nil)})
		if (err != nil) != (tt.fault != "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("namespace %s, job %s: %v", tt.namespace, tt.job, err)
		}
	}
}
