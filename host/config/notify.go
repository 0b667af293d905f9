package config

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Notifier is a table [notify.NAME]: where alerts of jobs are sent.
type Notifier struct {
	Name    string
	Webhook Secret   // its address, which may have a token in it
	Key     Secret   // signs what is sent; its zero value is none
	Events  []string // that it gets; none: all
}

// maxNotifierName is the longest name of a notifier.
const maxNotifierName = 64

// events that a notifier can choose.
func events() []string { return []string{"failed", "missed", "late", "too_long", "recovered"} }

func (b *builder) notifier(path, name string) {
	n := Notifier{Name: name, Events: get(b, []string(nil), path+".events")}
	if !isName(name) || len(name) > maxNotifierName {
		b.fault(path, "", "", reason.Of(reason.NotifyName))
	}
	for i, event := range n.Events {
		if !slices.Contains(events(), event) {
			b.fault(path, "events", "["+strconv.Itoa(i)+"]", reason.Of(reason.NotifyEvent, strconv.Quote(event), strings.Join(events(), ", ")))
		}
	}
	for key, to := range map[string]*Secret{"webhook": &n.Webhook, "key": &n.Key} {
		if v := b.values[path+"."+key]; b.isSet(path+"."+key) && !v.refused {
			*to, _ = b.secret(path, key, "", get(b, "", path+"."+key))
		}
	}
	if !b.isSet(path + ".webhook") {
		b.fault(path, "", "", reason.Of(reason.NotifyNowhere))
	}
	b.file.Notify = append(b.file.Notify, n)
}

// notified checks that the file has the notifiers that a job names.
func (b *builder) notified(path string, c job.Config) {
	for _, name := range c.Notify {
		if b.named[joinKey("notify", name)] == (place{}) && !b.broken {
			b.faultOf(path, "notify", reason.Of(reason.NotifyUnknown, name))
		}
	}
}

// NotifierSecrets are the secrets of a Notifier.
type NotifierSecrets struct {
	URL, Key string
}

// Notifiers fetches the addresses and keys of all notifiers, by name. The error is a
// Problems with every one that is not there, or not what it should be.
func (f *File) Notifiers(env []string) (map[string]NotifierSecrets, error) {
	variables := newEnvironment(env)
	all := map[string]NotifierSecrets{}
	var problems Problems
	for _, n := range f.Notify {
		path := joinKey("notify", n.Name)
		fetch := func(key string, s Secret) (value string) {
			if s == (Secret{}) {
				return ""
			}
			value, err := s.fetch(variables)
			if err != nil {
				problems = append(problems, f.absent(path+"."+key, reason.NamedAbsent, err))
			}
			return value
		}
		got := NotifierSecrets{fetch("webhook", n.Webhook), fetch("key", n.Key)}
		u, err := url.Parse(got.URL)
		if got.URL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
			problems = append(problems, f.laid[path+".webhook"].problem(path+".webhook", reason.Of(reason.NotifyAddress)))
		}
		all[n.Name] = got
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return all, nil
}
