package admin

import (
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
)

// A server moves a job that no member runs any more, and back.
func TestMigrate(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	ctx := t.Context()
	_, err := s.client.Migrate(ctx, "report", operator.Move{To: "3"})
	wantCode(t, "it runs", err, host.Refused, "it is not at rest")
	_, err = s.client.Migrate(ctx, "report", operator.Move{})
	wantCode(t, "nowhere", err, host.Invalid, `one of "to" and "back"`)
	if _, err := s.client.Shutdown(ctx, "report", operator.Which{All: true}); err != nil {
		t.Fatal(err)
	}
	dry, err := s.client.Migrate(ctx, "report", operator.Move{To: "3", DryRun: true})
	for err != nil && strings.Contains(err.Error(), "it is not at rest") { // the member leaves
		dry, err = s.client.Migrate(ctx, "report", operator.Move{To: "3", DryRun: true})
	}
	if err != nil || !dry.DryRun || dry.Job != "report" || dry.From != "2.1" || dry.To != "3" || len(dry.Writes) == 0 {
		t.Fatalf("%+v, %v", dry, err)
	}
	done, err := s.client.Migrate(ctx, "report", operator.Move{To: "3"})
	if err != nil || done.DryRun || len(done.Writes) != len(dry.Writes) {
		t.Errorf("%+v, %v", done, err)
	}
	back, err := s.client.Migrate(ctx, "report", operator.Move{Back: true})
	if err != nil || back.From != "3" || back.To != "2.1" {
		t.Errorf("%+v, %v", back, err)
	}
}
