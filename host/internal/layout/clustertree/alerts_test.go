package clustertree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fullAlerts returns the greatest number of alerts, each as long as possible.
func fullAlerts() Alerts {
	var all Alerts
	names := make([]string, MaxNotify)
	for i := range names {
		names[i] = fmt.Sprintf("%0*d", MaxNotifierName, i)
	}
	items := make([]Span, maxAlertSpans)
	for i := range items {
		items[i] = Span{maxAlertItem - 3*i - 1, maxAlertItem - 3*i}
	}
	for i := range MaxAlerts {
		all.Add(Alert{
			Job: fmt.Sprintf("%0*d", maxKeyJob, i), Kind: strings.Repeat("k", maxKind), Items: items, Count: 1 << 62, First: lastMoment, Last: lastMoment,
			Text: strings.Repeat("<", 1000), Notify: names, Left: names, After: lastMoment, Tries: 1 << 30, Sent: lastMoment, Over: lastMoment,
		})
	}
	for i := range MaxSilences {
		all.Silence(Silence{fmt.Sprintf("%0*d", maxKeyJob, i), lastMoment, strings.Repeat("<", 1000), strings.Repeat("<", 1000)}, 1)
	}
	return all
}

// The greatest alerts are within the bound, and are read again.
func TestAlertsAtTheirBounds(t *testing.T) {
	t.Parallel()
	all := fullAlerts()
	if all.Add(Alert{Job: "z", Kind: "k"}) || all.Silence(Silence{Job: "z", Until: 2}, 1) {
		t.Error("there is room for one more")
	}
	got, err := DecodeAlerts(all.Encode())
	if diff := cmp.Diff(all, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// A value that this release does not write is refused, not changed.
func TestAlertsOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"unsorted":        `{"v":1,"alerts":[{"job":"b","kind":"late","count":1,"first":1,"last":1,"notify":["o"]},{"job":"a","kind":"late","count":1,"first":1,"last":1,"notify":["o"]}],"silences":[]}`,
		"twice":           `{"v":1,"alerts":[{"job":"a","kind":"late","count":1,"first":1,"last":1,"notify":["o"]},{"job":"a","kind":"late","count":1,"first":1,"last":1,"notify":["o"]}],"silences":[]}`,
		"items":           `{"v":1,"alerts":[{"job":"a","kind":"late","items":[2,1],"count":1,"first":1,"last":1,"notify":["o"]}],"silences":[]}`,
		"spans":           `{"v":1,"alerts":[{"job":"a","kind":"late","items":[[1,2],3],"count":1,"first":1,"last":1,"notify":["o"]}],"silences":[]}`,
		"a span":          `{"v":1,"alerts":[{"job":"a","kind":"late","items":[[2,1]],"count":1,"first":1,"last":1,"notify":["o"]}],"silences":[]}`,
		"a moment":        `{"v":1,"alerts":[{"job":"a","kind":"late","count":1,"first":-1,"last":1,"notify":["o"]}],"silences":[]}`,
		"no count":        `{"v":1,"alerts":[{"job":"a","kind":"late","count":0,"first":1,"last":1,"notify":["o"]}],"silences":[]}`,
		"a terminal":      `{"v":1,"alerts":[{"job":"a","kind":"late","count":1,"first":1,"last":1,"text":"\u001b[2J","notify":["o"]}],"silences":[]}`,
		"a silence":       `{"v":1,"alerts":[],"silences":[{"job":"a","until":0,"by":"x"}]}`,
		"silences":        `{"v":1,"alerts":[],"silences":[{"job":"b","until":1,"by":"x"},{"job":"a","until":1,"by":"x"}]}`,
		"another version": `{"v":2,"alerts":[],"silences":[]}`,
		"a key":           `{"v":1,"alerts":[],"silences":[],"more":1}`,
	} {
		if a, err := DecodeAlerts([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// A silence is for one job or for all, replaces the one before, and ends.
func TestSilences(t *testing.T) {
	t.Parallel()
	var a Alerts
	a.Silence(Silence{Job: "b", Until: 20}, 1)
	a.Silence(Silence{Job: "a", Until: 10}, 1)
	if !a.Silenced("a", 9) || a.Silenced("a", 10) || !a.Silenced("b", 19) || a.Silenced("c", 5) {
		t.Errorf("%+v", a)
	}
	a.Silence(Silence{Until: 30}, 15) // "a" has passed by now
	if !a.Silenced("c", 29) || len(a.Silences) != 2 {
		t.Errorf("%+v", a)
	}
	a.Silence(Silence{}, 15) // ends the silence for all jobs
	if a.Silenced("c", 16) || len(a.Silences) != 1 {
		t.Errorf("%+v", a)
	}
}

func FuzzAlerts(f *testing.F) {
	full := fullAlerts()
	f.Add(full.Encode()[:4000])
	f.Add([]byte(`{"v":1,"alerts":[{"job":"a","kind":"late","count":1,"first":1,"last":1,"notify":["o"]}],"silences":[{"job":"a","until":5,"by":"x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := DecodeAlerts(data)
		if err != nil || len(data) == 0 {
			return
		}
		if again := a.Encode(); string(again) != string(data) {
			t.Errorf("%q was read, and is written as %q", data, again)
		}
	})
}
