package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/job"
)

const notifying = "[notify.ops]\nwebhook = 'env:HOOK'\nkey = 'env:KEY'\nevents = ['late']\n"

// A notifier and the job that names it are read, with secrets from where the file says.
func TestNotify(t *testing.T) {
	t.Parallel()
	f, err := Parse("t.toml", []byte(notifying+small+"notify = ['ops']\nexpect = { within = '3h', max_duration = '25m' }\nerror_handler = 'ignore'\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Notifier{{"ops", Secret{Env: "HOOK"}, Secret{Env: "KEY"}, []string{"late"}}}, f.Notify); diff != "" {
		t.Error(diff)
	}
	if c := f.Jobs[0]; !slices.Equal(c.Notify, []string{"ops"}) || c.Expect != (job.Expect{Within: 3 * 3600e9, MaxDuration: 25 * 60e9}) || c.ErrorHandler != job.IgnoreErrors {
		t.Errorf("%+v", c)
	}
	got, err := f.Notifiers([]string{"HOOK=https://example.org/x", "KEY=k"})
	if diff := cmp.Diff(map[string]NotifierSecrets{"ops": {"https://example.org/x", "k"}}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for address, want := range map[string]string{"ftp://secret/": "no address of a webhook", "secret": "no address", "": "HOOK is not set"} {
		if _, err := f.Notifiers([]string{"HOOK=" + address, "KEY=k"}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestNotifyFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[notify.ops]\nevents = ['late', 'never']\n": "t.toml:2:19: notify.ops.events[1]: \"never\" is no event (write one of failed, missed, late, too_long, recovered)",
		"[notify.ops]\n":                                        "notify.ops: where its messages go is missing (write webhook = \"env:NAME\")",
		"[notify.'o s']\nwebhook = 'env:A'\n":                   "this is no name of a notifier",
		"[notify.ops]\nwebhook = 'https://hook/token'\n":        "notify.ops.webhook: a secret is named here, not written (write \"env:NAME\" or \"file:path/to/file\")",
		small + "notify = ['ops']\n":                            "jobs.j.notify: there is no notifier ops (add [notify.ops] with a webhook, or remove it)",
		small + "expect = { within = '3h', longest = '25m' }\n": "jobs.j.expect.longest: unknown key",
	} {
		_, err := Parse("t.toml", []byte(text), Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "token") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
