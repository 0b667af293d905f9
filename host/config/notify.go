package config

import (
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Notifier is a table [notify.NAME]: a destination for alerts of jobs.
type Notifier struct {
	Name    string
	Webhook Secret   // the address, which may contain a token
	Key     Secret   // signs posted messages; the zero value is none
	Mail    Mail     // instead of a webhook
	Events  []string // events that it receives; nil: all
}

// Mail is the table [notify.NAME.mail].
type Mail struct {
	Server   string // smtp://host:port or smtps://host:port
	From     string
	To       []string
	User     string // "": without authentication
	Password Secret
}

// maxRecipients is the largest number of recipients.
const maxRecipients = 20

// maxNotifierName is the longest name of a notifier, in bytes.
const maxNotifierName = 64

// events returns the events that a notifier can select.
func events() []string { return []string{"failed", "missed", "late", "too_long", "recovered"} }

// notifier reads the table [notify.<name>] at path. A notifier has either a webhook or mail.
func (b *builder) notifier(path, name string) {
	n := Notifier{Name: name, Events: get(b, []string(nil), path+".events")}
	if !isName(name) || len(name) > maxNotifierName {
		b.fault(path, "", "", reason.Of(reason.NotifyName))
	}
	if v := b.values[path+".events"]; b.isSet(path+".events") && !v.refused && len(n.Events) == 0 {
		b.fault(path, "events", "", reason.Of(reason.NotifyEvents))
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
	n.Mail = b.mail(path + ".mail")
	switch hook, mailed := b.isSet(path+".webhook"), b.isSet(path+".mail.server"); {
	case !hook && !mailed:
		b.fault(path, "", "", reason.Of(reason.NotifyNowhere))
	case hook && mailed:
		b.fault(path, "webhook", "", reason.Of(reason.NotifyBoth))
	}
	b.file.Notify = append(b.file.Notify, n)
}

// mail reads the table of a notifier that sends mail. It must have all of server, from and to, and
// either both of user and password or neither.
func (b *builder) mail(path string) Mail {
	m := Mail{Server: get(b, "", path+".server"), From: get(b, "", path+".from"), To: get(b, []string(nil), path+".to"), User: get(b, "", path+".user")}
	valid := func(key string) bool { return b.isSet(path+"."+key) && !b.values[path+"."+key].refused }
	some, all := false, true
	for _, key := range []string{"server", "from", "to"} {
		some, all = some || b.isSet(path+"."+key), all && b.isSet(path+"."+key)
	}
	user, password := b.isSet(path+".user"), b.isSet(path+".password")
	if valid("password") {
		m.Password, _ = b.secret(path, "password", "", get(b, "", path+".password"))
	}
	switch {
	case (some || user || password) && !all:
		b.fault(path, "", "", reason.Of(reason.NotifyMailPart))
	case user != password, valid("user") && m.User == "":
		b.fault(path, "", "", reason.Of(reason.NotifyMailUser))
	}
	if u, err := url.Parse(m.Server); valid("server") && (err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" || u.User != nil || u.Path != "" || u.RawQuery != "" || !isPort(u.Port())) {
		b.fault(path, "server", "", reason.Of(reason.NotifyMailServer, strconv.Quote(m.Server)))
	}
	if _, err := mail.ParseAddress(m.From); valid("from") && err != nil {
		b.fault(path, "from", "", reason.Of(reason.NotifyMailAddress, strconv.Quote(m.From)))
	}
	for i, to := range m.To {
		if _, err := mail.ParseAddress(to); err != nil {
			b.fault(path, "to", "["+strconv.Itoa(i)+"]", reason.Of(reason.NotifyMailAddress, strconv.Quote(to)))
		}
	}
	if b.isSet(path+".to") && len(m.To) == 0 || len(m.To) > maxRecipients {
		b.fault(path, "to", "", reason.Of(reason.NotifyMailMany, strconv.Itoa(len(m.To)), strconv.Itoa(maxRecipients)))
	}
	return m
}

// isPort reports whether text is a valid port of an address; it may be empty.
func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && n > 0
}

// notified checks that the file has the notifiers that a job names. Those of other servers are in
// their own files.
func (b *builder) notified(path string, c job.Config) {
	if b.elsewhere {
		return
	}
	for _, name := range c.Notify {
		if b.named[joinKey("notify", name)] == (place{}) && !b.broken {
			b.faultOf(path, "notify", reason.Of(reason.NotifyUnknown, name))
		}
	}
}

// NotifierSecrets are the secrets of a Notifier.
type NotifierSecrets struct {
	URL, Key, Password string
}

// Notifiers loads the secrets of all notifiers, by name. The error is a Problems with every
// secret that is missing or invalid.
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
		got := NotifierSecrets{fetch("webhook", n.Webhook), fetch("key", n.Key), fetch("mail.password", n.Mail.Password)}
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
