package clustertree

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bounds of alerts.
const (
	MaxAlerts       = 200
	MaxSilences     = 100
	MaxNamedItems   = 32 // items that messages and lists name
	MaxNotify       = 8  // notifiers of an alert
	MaxNotifierName = 64

	maxKind      = 16
	maxAlertText = 300
	maxSilence   = 200
	// maxAlerts bounds the text of all, below the 1 MiB of a request to ZooKeeper.
	maxAlerts = MaxAlerts*3000 + MaxSilences*1200
)

// Alerts are the troubles of a cluster's jobs, ascending by job and kind, and the silences,
// ascending by job.
type Alerts struct {
	V        int       `json:"v"`
	All      []Alert   `json:"alerts"`
	Silences []Silence `json:"silences"`
}

// Alert is one trouble of a job, present or past.
type Alert struct {
	Job    string   `json:"job"`
	Kind   string   `json:"kind"`
	Items  []Span   `json:"items,omitempty"` // the items concerned, ascending
	Count  int64    `json:"count"`           // how often it was seen
	First  int64    `json:"first"`
	Last   int64    `json:"last"`
	Text   string   `json:"text,omitempty"` // the newest trouble
	Notify []string `json:"notify"`         // names of notifiers, ascending
	// Left are the notifiers that have yet to receive the newest state; empty: none.
	Left  []string `json:"left,omitempty"`
	After int64    `json:"after,omitempty"` // when they are to receive it
	Tries int      `json:"tries,omitempty"` // failed deliveries
	Sent  int64    `json:"sent,omitempty"`  // when one of them last received it; if none ever did, when that was given up
	Over  int64    `json:"over,omitempty"`  // when the trouble was over
}

// Silence holds a job's alerts back until a moment.
type Silence struct {
	Job   string `json:"job"` // "": all jobs
	Until int64  `json:"until"`
	Why   string `json:"why,omitempty"`
	By    string `json:"by"`
}

// DecodeAlerts reads the value of the node; an empty value has no alerts.
func DecodeAlerts(data []byte) (Alerts, error) {
	var a Alerts
	if err := decodeIfAny(data, maxAlerts, &a, &a.V); err != nil {
		return Alerts{}, err
	}
	return a, a.check()
}

// check refuses what Encode does not write: too much, out of order, or beyond the bounds of
// its parts.
func (a *Alerts) check() error {
	if len(a.All) > MaxAlerts || len(a.Silences) > MaxSilences {
		return fmt.Errorf("there are %d alerts and %d silences, the limits are %d and %d", len(a.All), len(a.Silences), MaxAlerts, MaxSilences)
	}
	for i := range a.All {
		if i > 0 && byJob(a.All[i-1], a.All[i]) >= 0 {
			return errors.New("the alerts are not sorted")
		}
		one := a.All[i]
		if one.tidy(); !sameAlert(&one, &a.All[i]) {
			return fmt.Errorf("alert %d is not what this release writes", i)
		}
	}
	for i, s := range a.Silences {
		if i > 0 && a.Silences[i-1].Job >= s.Job {
			return errors.New("the silences are not sorted")
		}
		if s.tidied() != s || !isMoment(s.Until) {
			return fmt.Errorf("silence %d is not what this release writes", i)
		}
	}
	return nil
}

// byJob orders alerts by job, then by kind.
func byJob(a, b Alert) int {
	if c := strings.Compare(a.Job, b.Job); c != 0 {
		return c
	}
	return strings.Compare(a.Kind, b.Kind)
}

// sameAlert reports whether tidy has changed nothing. Alerts have slices, so == cannot
// compare them.
func sameAlert(a, b *Alert) bool {
	return a.Job == b.Job && a.Kind == b.Kind && slices.Equal(a.Items, b.Items) && a.Count == b.Count && a.First == b.First &&
		a.Last == b.Last && a.Text == b.Text && slices.Equal(a.Notify, b.Notify) && slices.Equal(a.Left, b.Left) &&
		a.After == b.After && a.Tries == b.Tries && a.Sent == b.Sent && a.Over == b.Over
}

// tidy brings an alert within its bounds, so that it can be read again.
func (a *Alert) tidy() {
	a.Job, a.Kind, a.Text = AlertJob(a.Job), short(a.Kind, maxKind), short(a.Text, maxAlertText)
	a.Count, a.Tries = max(a.Count, 1), max(a.Tries, 0)
	for _, at := range []*int64{&a.First, &a.Last, &a.After, &a.Sent, &a.Over} {
		*at = min(max(*at, 0), lastMoment)
	}
	a.Items = boundedItems(a.Items)
	a.Notify, a.Left = notifiers(a.Notify), notifiers(a.Left)
}

const (
	maxAlertItem  = 99_999_999 // the largest number of an item
	maxAlertSpans = 32         // spans of the items of an alert
)

// notifiers returns names within their bounds: each short, all sorted, not too many.
func notifiers(names []string) []string {
	names = slices.Clone(names)
	for i := range names {
		names[i] = short(names[i], MaxNotifierName)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), MaxNotify)]
}

// AlertJob returns the name of a job as alerts spell it.
func AlertJob(name string) string { return short(name, maxKeyJob) }

// Find returns the alert of that kind of a job; nil if there is none.
func (a *Alerts) Find(job, kind string) *Alert {
	i, ok := slices.BinarySearchFunc(a.All, Alert{Job: AlertJob(job), Kind: kind}, byJob)
	if !ok {
		return nil
	}
	return &a.All[i]
}

// Add inserts an alert; none may have its job and kind. It reports whether there was room.
func (a *Alerts) Add(one Alert) bool {
	if len(a.All) >= MaxAlerts {
		return false
	}
	one.tidy()
	i, _ := slices.BinarySearchFunc(a.All, one, byJob)
	a.All = slices.Insert(slices.Clip(a.All), i, one)
	return true
}

// Remove removes the alerts for which gone is true, and reports whether there were any.
func (a *Alerts) Remove(gone func(*Alert) bool) bool {
	n := len(a.All)
	a.All = slices.DeleteFunc(slices.Clone(a.All), func(one Alert) bool { return gone(&one) })
	return len(a.All) < n
}

// Silence adds a silence, which replaces that of the same job, and removes silences that
// are over at from, even the new one. It reports whether there was room.
func (a *Alerts) Silence(s Silence, from int64) bool {
	s = s.tidied()
	all := slices.DeleteFunc(slices.Clone(a.Silences), func(old Silence) bool { return old.Job == s.Job || old.Until <= from })
	if s.Until > from {
		i, _ := slices.BinarySearchFunc(all, s, func(a, b Silence) int { return strings.Compare(a.Job, b.Job) })
		all = slices.Insert(all, i, s)
	}
	if len(all) > MaxSilences {
		return false
	}
	a.Silences = all
	return true
}

// Silenced reports whether a job's alerts are held back at a moment.
func (a *Alerts) Silenced(job string, at int64) bool {
	job = AlertJob(job)
	return slices.ContainsFunc(a.Silences, func(s Silence) bool { return (s.Job == "" || s.Job == job) && at < s.Until })
}

// tidied returns the silence with its texts cut to their bounds.
func (s Silence) tidied() Silence {
	s.Job, s.Why, s.By = AlertJob(s.Job), short(s.Why, maxSilence), short(s.By, maxWho)
	return s
}

// Encode returns the value of the node.
func (a *Alerts) Encode() []byte {
	a.V = version
	if a.All == nil {
		a.All = []Alert{}
	}
	if a.Silences == nil {
		a.Silences = []Silence{}
	}
	for i := range a.All {
		a.All[i].tidy()
	}
	return encode(a)
}
