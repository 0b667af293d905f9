package admin

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
)

func TestExplainThroughAServer(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	item, at := 0, time.Date(2001, 2, 3, 4, 5, 6, 7_000_000, time.UTC)
	e, err := s.client.Explain(t.Context(), operator.Question{Job: "report", Item: &item, At: at})
	if err != nil || e.Job != "report" || !e.At.Equal(at) || len(e.Items) != 1 || e.Items[0].Verdict != operator.NotDue {
		t.Errorf("got %+v, %v", e, err)
	}
	item = 1000
	_, err = s.client.Explain(t.Context(), operator.Question{Job: "report", Item: &item})
	wantCode(t, "an item that is not there", err, host.NotFound, "there is no item 1000; the items are 0 to 0")
	_, err = s.client.Explain(t.Context(), operator.Question{Job: "report", At: time.Now().AddDate(20, 0, 0)})
	wantCode(t, "a time too far ahead", err, host.Invalid, "ten years from now")
	_, err = s.client.Explain(t.Context(), operator.Question{Job: "absent"})
	wantCode(t, "a job that is not there", err, host.NotFound, "absent")
	_, err = s.client.Explain(t.Context(), operator.Question{Job: "a/b"})
	wantCode(t, "no name", err, host.NotFound, "that cannot be the name of a job")
}

func TestEveryFieldOfAnExplanationTravels(t *testing.T) {
	t.Parallel()
	var want, got explanationDocument
	fill(reflect.ValueOf(&want).Elem(), 3)
	if err := roundTrip(want, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestQuestionsThatCannotBe(t *testing.T) {
	t.Parallel()
	h := NewHandler(Options{Operate: onMemory})
	for query, want := range map[string]string{
		"item=a":        `"parameter":"item"`,
		"item=-1":       `"parameter":"item"`,
		"at=noon":       `"parameter":"at"`,
		"at=2026-01-31": `"parameter":"at"`,
		"until=1":       "known are at, item",
	} {
		w := answered(t, h, http.MethodGet, "/api/v1/jobs/report/explain?"+query, "", "")
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}
