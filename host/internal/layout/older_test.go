package layout

import (
	"errors"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job/recorded"
	"github.com/wasmjob/wasmjob/host/registry"
)

// older reads a recorded tree in which nodes whose path ends in lost cannot be read.
func older(t *testing.T, file, lost string) (Form, error) {
	t.Helper()
	tree := recorded.EarlierTree(t, file, "at the end")
	return FormOf(NewJob("ns", "job"), func(path string) (registry.Node, error) {
		if strings.HasSuffix(path, lost) {
			return registry.Node{}, registry.ErrEnded
		}
		data, ok := tree[path]
		n := registry.Node{Exists: ok, Data: []byte(data)}
		for p := range tree {
			if name, below := strings.CutPrefix(p, path+"/"); below && !strings.Contains(name, "/") {
				n.Children = append(n.Children, name)
			}
		}
		return n, nil
	})
}

func TestFormOfOlderJobs(t *testing.T) {
	t.Parallel()
	for file, layout := range map[string]string{"ej1/sequence.json": "1", "ej20/dataflow.json": "2.0"} {
		got, err := older(t, file, "?")
		if err != nil || got.Unreadable != nil || got.Layout != layout || len(got.Older) < 2 {
			t.Errorf("%s: %+v, %v", file, got, err)
		}
	}
}

// A node that the registry does not return is no fault of the job.
func TestFormOfOlderJobsNeedsTheRegistry(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"/host", "/10.0.0.1", "/status"} {
		if _, err := older(t, "ej1/basic.json", lost); !errors.Is(err, registry.ErrEnded) {
			t.Errorf("without %s: %v", lost, err)
		}
	}
}
