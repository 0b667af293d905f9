package config

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/job"
)

const notifying = "[notify.ops]\nwebhook = 'env:HOOK'\nkey = 'env:KEY'\nevents = ['late']\n"

// A notifier, and the job that names it, are read, with secrets from where the file says.
func TestNotify(t *testing.T) {
	t.Parallel()
	f, err := Parse("t.toml", []byte(notifying+small+"notify = ['ops']\nexpect = { within = '3h', max_duration = '25m' }\nerror_handler = 'ignore'\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Notifier{{Name: "ops", Webhook: Secret{Env: "HOOK"}, Key: Secret{Env: "KEY"}, Events: []string{"late"}}}, f.Notify); diff != "" {
		t.Error(diff)
	}
	if c := f.Jobs[0]; !slices.Equal(c.Notify, []string{"ops"}) || c.Expect != (job.Expect{Within: 3 * 3600e9, MaxDuration: 25 * 60e9}) || c.ErrorHandler != job.IgnoreErrors {
		t.Errorf("%+v", c)
	}
	got, err := f.Notifiers([]string{"HOOK=https://example.org/x", "KEY=k"})
	if diff := cmp.Diff(map[string]NotifierSecrets{"ops": {URL: "https://example.org/x", Key: "k"}}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for address, want := range map[string]string{"ftp://secret/": "not the address of a webhook", "secret": "not the address", "": "HOOK is not set"} {
		if _, err := f.Notifiers([]string{"HOOK=" + address, "KEY=k"}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// All settings of a notifier that sends mail are read.
func TestNotifyByMail(t *testing.T) {
	t.Parallel()
	f, err := Parse("t.toml", []byte("[notify.ops.mail]\nserver = 'smtp://mail.example.org:587'\nfrom = 'Jobs <jobs@example.org>'\nto = ['a@example.org']\nuser = 'jobs'\npassword = 'env:MAIL'\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := Mail{"smtp://mail.example.org:587", "Jobs <jobs@example.org>", []string{"a@example.org"}, "jobs", Secret{Env: "MAIL"}}
	if diff := cmp.Diff([]Notifier{{Name: "ops", Mail: want}}, f.Notify); diff != "" {
		t.Error(diff)
	}
	got, err := f.Notifiers([]string{"MAIL=p"})
	if diff := cmp.Diff(map[string]NotifierSecrets{"ops": {Password: "p"}}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, err := f.Notifiers(nil); err == nil || !strings.Contains(err.Error(), "MAIL is not set") {
		t.Error(err)
	}
}

// No job may read the secrets of notifiers.
func TestSecretsOfNotifiersArePrivate(t *testing.T) {
	t.Parallel()
	f, err := Parse("/etc/t.toml", []byte("[notify.ops]\nwebhook = 'file:hook'\nkey = 'file:key'\n"+
		"[notify.people.mail]\nserver = 'smtp://h'\nfrom = 'a@b.c'\nto = ['a@b.c']\nuser = 'u'\npassword = 'file:mail'\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/etc/hook", "/etc/key", "/etc/mail"} {
		if !slices.ContainsFunc(f.Private(), func(p job.Private) bool { return p.Path == path && !p.Readable }) {
			t.Errorf("%s is not private", path)
		}
	}
}

func TestNotifyFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[notify.ops]\nevents = ['late', 'never']\n":       "t.toml:2:19: notify.ops.events[1]: \"never\" is not an event (write one of failed, missed, late, too_long, recovered)",
		"[notify.ops]\nwebhook = 'env:A'\nevents = []\n":   "notify.ops.events: no event is named (name one, or remove the list for all events)",
		mailing("server = ''"):                             "mail.server: \"\" is not the address of a mail server",
		mailing("server = '${NONE:-}'"):                    "mail.server: \"\" is not the address of a mail server",
		mailing("from = ''"):                               "mail.from: \"\" is not a mail address",
		mailing("user = ''") + "mail.password = 'env:A'\n": "mail: user and password go together",
		"[notify.ops]\n":                                   "notify.ops: it does not say where its messages go (write webhook = \"env:NAME\", or server, from and to in its table mail)",
		"[notify.'o s']\nwebhook = 'env:A'\n":              "this cannot be the name of a notifier",
		"[notify.ops]\nwebhook = 'https://hook/token'\n":   "notify.ops.webhook: a secret is named here, not written (write \"env:NAME\" or \"file:path/to/file\")",
		mailing("server = 'mail.example.org'"):             "\"mail.example.org\" is not the address of a mail server", mailing("server = 'smtp://h:0'"): "is not the address of a mail server",
		mailing("server = 'smtp://u:p@h'"): "is not the address of a mail server", mailing("server = 'https://h'"): "is not the address of a mail server",
		mailing("from = 'jobs'"): "\"jobs\" is not a mail address", mailing("to = ['a@b.c', 'x y@b.c']"): "notify.ops.mail.to[1]: \"x y@b.c\" is not a mail address",
		mailing("to = []"): "there are 0 recipients", mailing("to = ['a@b.c" + strings.Repeat("', 'a@b.c", 20) + "']"): "there are 21 recipients (write 1 to 20)",
		"[notify.ops]\nmail.from = 'a@b.c'\n": "server, from or to is missing", mailing("user = 'u'"): "user and password go together",
		mailing("password = 'token'"): "a secret is named here", mailing("") + "webhook = 'env:A'\n": "it has a webhook and mail (make two notifiers of it)",
		small + "notify = ['ops']\n":                            "jobs.j.notify: there is no notifier ops (add [notify.ops] with a webhook, or remove it)",
		small + "expect = { within = '3h', longest = '25m' }\n": "jobs.j.expect.longest: unknown key",
	} {
		_, err := Parse("t.toml", []byte(text), Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "token") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// The notifiers of other servers are in their files, so a job that runs there may name any.
func TestNotifiersOfOtherServers(t *testing.T) {
	t.Parallel()
	f, err := Parse("t.toml", []byte(small+"notify = ['ops']\n"), Options{Elsewhere: true})
	if err != nil || len(f.Jobs) != 1 || len(f.Jobs[0].Notify) != 1 {
		t.Errorf("%v: %+v", err, f)
	}
}

// mailing returns a notifier that sends mail, with one line added or replaced.
func mailing(line string) string {
	lines := map[string]string{"server": "server = 'smtp://h'", "from": "from = 'a@b.c'", "to": "to = ['a@b.c']"}
	if name, _, ok := strings.Cut(line, " "); ok {
		lines[name] = line
	}
	text := "[notify.ops]\n"
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		text += "mail." + lines[name] + "\n"
	}
	return text
}
