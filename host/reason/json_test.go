package reason

import (
	"encoding/json"
	"testing"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for _, r := range []Reason{{}, Text("what a guest says"), Of(JobPaused), Of(LatchHeld, `"place"`, "12"), Of(JobDenied, "a: b, c")} {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var got Reason
		if err := json.Unmarshal(b, &got); err != nil || got != r {
			t.Errorf("%s gave %+v, want %+v: %v", b, got, r, err)
		}
	}
	b, err := json.Marshal(Of(JobPaused))
	if want := `{"code":"job_paused","text":"` + Of(JobPaused).String() + `","hint":"` + "`wasmjobd job resume JOB`" + `"}`; err != nil || string(b) != want {
		t.Errorf("got %s, want %s: %v", b, want, err)
	}
	var newer Reason
	if err := json.Unmarshal([]byte(`{"code":"of_another_release","params":{"a":"b"},"text":"why"}`), &newer); err != nil || newer != Text("why") {
		t.Errorf("a code of another release gave %+v: %v", newer, err)
	}
}
