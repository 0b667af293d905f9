package alert

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// mailServer accepts mail from clients that have signed in.
type mailServer struct {
	got     chan sentMail
	refuses string // a recipient
}

type sentMail struct {
	from string
	to   []string
	text string
}

type visit struct {
	box    *mailServer
	signed bool
	mail   sentMail
}

func (v *visit) AuthMechanisms() []string { return []string{sasl.Plain} }

func (v *visit) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "jobs" || password != "the password" {
			return smtp.ErrAuthFailed
		}
		v.signed = true
		return nil
	}), nil
}

func (v *visit) Mail(from string, _ *smtp.MailOptions) error {
	if !v.signed {
		return smtp.ErrAuthRequired
	}
	v.mail = sentMail{from: from}
	return nil
}

func (v *visit) Rcpt(to string, _ *smtp.RcptOptions) error {
	if to == v.box.refuses {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "nobody has this name"}
	}
	v.mail.to = append(v.mail.to, to)
	return nil
}

func (v *visit) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	v.mail.text = string(text)
	if err == nil {
		v.box.got <- v.mail
	}
	return err
}

func (v *visit) Reset()        {}
func (v *visit) Logout() error { return nil }

// startMailServer starts a mailServer that offers STARTTLS or, with atOnce, speaks TLS at once.
func startMailServer(t *testing.T, box *mailServer, atOnce bool) (address string, roots *x509.CertPool) {
	t.Helper()
	box.got = make(chan sentMail, 10)
	secured := httptest.NewUnstartedServer(nil) // for its certificate
	secured.StartTLS()
	t.Cleanup(secured.Close)
	roots = x509.NewCertPool()
	roots.AddCert(secured.Certificate())
	s := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &visit{box: box}, nil }))
	s.TLSConfig = &tls.Config{Certificates: secured.TLS.Certificates, MinVersion: tls.VersionTLS12}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	scheme := "smtp://"
	if atOnce {
		l, scheme = tls.NewListener(l, s.TLSConfig), "smtps://"
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-ended; err != nil && !errors.Is(err, smtp.ErrServerClosed) {
			t.Error(err)
		}
	})
	return scheme + l.Addr().String(), roots
}

func someAlerts() *Message {
	at := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	return &Message{Version: 1, Cluster: "jobs", Server: "a", Alerts: []Notice{
		{ID: "1", Event: Failed, Job: "report", Items: []int{0, 2}, Count: 3, First: at, Last: at.Add(time.Hour), Text: "no money\r\nBcc: x@example.org\n\x1b[2J"},
		{ID: "2", Event: Recovered, Of: Late, Job: "pay", Count: 1, First: at, Last: at},
	}}
}

// Mail arrives complete, by STARTTLS and by TLS, with a sign-in. Texts of a job add nothing to
// its headers.
func TestMail(t *testing.T) {
	t.Parallel()
	for _, atOnce := range []bool{false, true} {
		var box mailServer
		address, roots := startMailServer(t, &box, atOnce)
		n := Notifier{Name: "ops", Mail: Mail{Server: address, From: "jobs@example.org", To: []string{"a@example.org", "b@example.org"}, User: "jobs", Password: "the password", roots: roots}}
		var ids []string
		for range 2 {
			if err := n.send(t.Context(), someAlerts()); err != nil {
				t.Fatal(err)
			}
			got := <-box.got
			m, err := mail.ReadMessage(strings.NewReader(got.text))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(m.Body)
			if err != nil {
				t.Fatal(err)
			}
			if got.from != "jobs@example.org" || strings.Join(got.to, " ") != "a@example.org b@example.org" ||
				m.Header.Get("Subject") != "[jobs] 2 alerts" || m.Header.Get("Bcc") != "" || m.Header.Get("Auto-Submitted") != "auto-generated" {
				t.Errorf("%+v", got)
			}
			for _, want := range []string{"report: failed\r\n  no money  Bcc: x@example.org  [2J\r\n  items 0, 2\r\n  times 3\r\n", "first 2026-03-01T02:00:00Z", "pay: recovered (late)", "Sent by a of the cluster jobs."} {
				if !strings.Contains(string(body), want) {
					t.Errorf("%q is not in\n%s", want, body)
				}
			}
			ids = append(ids, m.Header.Get("Message-ID"))
		}
		if ids[0] == "" || ids[0] != ids[1] {
			t.Errorf("ids %q", ids)
		}
	}
}

// A mail that cannot be sent is an error without the password, and no recipient gets a part of
// it.
func TestMailThatIsNotSent(t *testing.T) {
	t.Parallel()
	box := mailServer{refuses: "b@example.org"}
	address, roots := startMailServer(t, &box, false)
	good := Mail{Server: address, From: "jobs@example.org", To: []string{"a@example.org"}, User: "jobs", Password: "the password", roots: roots}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx    context.Context
		change func(*Mail)
		want   string
	}{
		"a wrong password":    {t.Context(), func(m *Mail) { m.Password = "another one" }, "Authentication failed"},
		"nobody signs in":     {t.Context(), func(m *Mail) { m.User = "" }, "authenticate first"},
		"a recipient":         {t.Context(), func(m *Mail) { m.To = append(m.To, "b@example.org") }, "nobody has this name"},
		"another certificate": {t.Context(), func(m *Mail) { m.roots = x509.NewCertPool() }, "certificate"},
		"an end":              {gone, func(*Mail) {}, "cancel"},
	} {
		m := good
		m.To = append([]string(nil), m.To...)
		tt.change(&m)
		n := Notifier{Mail: m}
		err := n.send(tt.ctx, someAlerts())
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), m.Password) {
			t.Errorf("%s: %v", name, err)
		}
	}
	select {
	case l := <-box.got:
		t.Errorf("%+v", l)
	default:
	}
}

// Only a mail server on this machine may lack TLS.
func TestMailIsNotSentInTheOpen(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{"127.0.0.1": true, "::1": true, "localhost": true, "10.0.0.1": false, "mail.example.org": false, "localhost.example.org": false} {
		if isHere(host) != want {
			t.Errorf("%s is here: %t", host, !want)
		}
	}
}
