package alert

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/wneessen/go-mail"
)

// Mail sends alerts as mail, one for all that are due. The zero value sends none.
type Mail struct {
	// Server is smtp://host:port, which has to offer STARTTLS unless it is on this machine,
	// or smtps://host:port.
	Server string
	From   string
	To     []string
	// User and Password sign in; empty: no sign-in.
	User, Password string

	roots *x509.CertPool // authorities of the server's certificate; nil: the system's
}

// Default ports.
const (
	submissionPort  = 587
	submissionsPort = 465
)

// send sends a message to all recipients, or to none. Its Message-ID stays the same when
// the same alerts are sent again.
func (m *Mail) send(ctx context.Context, all *Message) error {
	msg, err := m.compose(all)
	if err != nil {
		return err
	}
	c, err := m.client()
	if err != nil {
		return err
	}
	if err := c.DialAndSendWithContext(ctx, msg); err != nil {
		return fmt.Errorf("send mail: %w", err)
	}
	return nil
}

// compose returns the mail for a message.
func (m *Mail) compose(all *Message) (*mail.Msg, error) {
	msg := mail.NewMsg()
	if err := errors.Join(msg.From(m.From), msg.To(m.To...)); err != nil {
		return nil, fmt.Errorf("write a mail: %w", err)
	}
	ids := sha256.New()
	for i := range all.Alerts {
		fmt.Fprintln(ids, all.Alerts[i].ID)
	}
	msg.SetMessageIDWithValue(hex.EncodeToString(ids.Sum(nil)[:16]) + "@wasmjobd")
	msg.SetDate()
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // so that no absence note answers
	msg.Subject(subjectOf(all))
	msg.SetBodyString(mail.TypeTextPlain, textOf(all))
	return msg, nil
}

// client returns a client for the mail server. TLS is required unless the connection stays on
// this machine.
func (m *Mail) client() (*mail.Client, error) {
	at, err := url.Parse(m.Server)
	if err != nil || at.Hostname() == "" {
		return nil, errors.New("the address of the mail server is invalid")
	}
	host, port := at.Hostname(), submissionPort
	options := []mail.Option{
		mail.WithTLSConfig(&tls.Config{ServerName: host, RootCAs: m.roots, MinVersion: tls.VersionTLS12}),
		mail.WithTimeout(sendPatience),
	}
	if at.Scheme == "smtps" {
		port = submissionsPort
		options = append(options, mail.WithSSL())
	} else if isHere(host) {
		options = append(options, mail.WithTLSPolicy(mail.TLSOpportunistic))
	} else {
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if text := at.Port(); text != "" {
		if port, err = strconv.Atoi(text); err != nil {
			return nil, fmt.Errorf("the port of the mail server: %w", err)
		}
	}
	options = append(options, mail.WithPort(port))
	if m.User != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(m.User), mail.WithPassword(m.Password))
	}
	c, err := mail.NewClient(host, options...)
	if err != nil {
		return nil, fmt.Errorf("prepare mail: %w", err)
	}
	return c, nil
}

// isHere reports whether a host is this machine, so that connections to it cannot be overheard.
func isHere(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// subjectOf names a single alert, or counts several.
func subjectOf(all *Message) string {
	if len(all.Alerts) == 1 {
		return fmt.Sprintf("[%s] %s: %s", all.Cluster, all.Alerts[0].Job, eventOf(&all.Alerts[0]))
	}
	return fmt.Sprintf("[%s] %d alerts", all.Cluster, len(all.Alerts))
}

// eventOf returns the event of a notice, with the kind of the alert that is over.
func eventOf(n *Notice) string {
	if n.Of != "" {
		return n.Event + " (" + n.Of + ")"
	}
	return n.Event
}

// textOf is the text of a mail. Texts of jobs stay within one line.
func textOf(all *Message) string {
	var text strings.Builder
	for i := range all.Alerts {
		n := &all.Alerts[i]
		fmt.Fprintf(&text, "%s: %s\n", n.Job, eventOf(n))
		if n.Text != "" {
			fmt.Fprintf(&text, "  %s\n", inOneLine(n.Text))
		}
		if len(n.Items) > 0 {
			fmt.Fprintf(&text, "  items %s\n", strings.Trim(strings.ReplaceAll(fmt.Sprint(n.Items), " ", ", "), "[]"))
		}
		fmt.Fprintf(&text, "  times %d\n  first %s\n  last  %s\n\n", n.Count, n.First.Format(time.RFC3339), n.Last.Format(time.RFC3339))
	}
	fmt.Fprintf(&text, "Sent by %s of the cluster %s.\n", all.Server, all.Cluster)
	return text.String()
}

// inOneLine replaces what could end a line by blanks.
func inOneLine(text string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, text)
}
