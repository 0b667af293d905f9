package reason

import "testing"

// A server reads another server's code and parameters as the same reason.
func TestOfParams(t *testing.T) {
	t.Parallel()
	for _, want := range []Reason{Of(JobPaused), Of(JobPaused, "ann", "", "deploy"), Of(TokensBackwards, "7", "4"), Text("the guest said so"), {}} {
		if got := OfParams(want.Code, want.Params(), want.String()); got != want {
			t.Errorf("%+v is read as %+v", want, got)
		}
	}
	if got := OfParams("of_a_later_release", map[string]string{"x": "1"}, "it has words"); got != Text("it has words") {
		t.Errorf("an unknown code is read as %+v", got)
	}
}
