package alert

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
)

const (
	// sendPatience limits the time to send one message.
	sendPatience = 10 * time.Second
	// maxAnswer is the limit of bytes that are read of an answer.
	maxAnswer = 4 << 10
	// SignatureHeader has the time of a message and its signature: "t=SECONDS,v1=HEX", the
	// HMAC-SHA256 of the seconds, a full stop and the body.
	SignatureHeader = "Wasmjobd-Signature"
)

// Notifier is where alerts are sent.
type Notifier struct {
	Name    string
	Events  []string // kinds that it gets; empty: all
	Webhook Webhook  // zero: none
	Mail    Mail     // zero: none
}

// Webhook is an address to which alerts are posted as JSON.
type Webhook struct {
	URL string
	Key string // signs the messages; empty: they are not signed
}

// Message is what a webhook receives, with all alerts that are due.
type Message struct {
	Version int      `json:"version"`
	Cluster string   `json:"cluster"` // its namespace
	Server  string   `json:"server"`  // that sent it
	Alerts  []Notice `json:"alerts"`
}

// Notice is one alert in a Message. Its id stays the same when it is sent again.
type Notice struct {
	ID    string    `json:"id"`
	Event string    `json:"event"`
	Of    string    `json:"of,omitempty"` // the kind of the alert that is over
	Job   string    `json:"job"`
	Items []int     `json:"items,omitempty"` // some, if they are many
	Count int64     `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Text  string    `json:"text,omitempty"`
}

// noticeOf returns the notice of an alert of a cluster in its present state. Its id is computed
// from that state, so that each deliverer gives it the same one.
func noticeOf(cluster string, a *clustertree.Alert) Notice {
	n := Notice{Event: a.Kind, Job: a.Job, Items: a.Named(), Count: a.Count, First: moment(a.First), Last: moment(a.Last), Text: a.Text}
	if recovering(a) {
		n.Event, n.Of, n.Last = Recovered, a.Kind, moment(a.Over)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %s %s %d %d", cluster, a.Job, a.Kind, n.Event, a.First, a.Count))
	n.ID = hex.EncodeToString(sum[:16])
	return n
}

// moment returns the time of a number of ms.
func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// recovering reports whether an alert is over, and a notifier has received it before.
func recovering(a *clustertree.Alert) bool { return a.Over != 0 && a.Sent != 0 }

// send sends a message to one notifier. No error repeats its address, which may be a
// secret.
func (n *Notifier) send(ctx context.Context, m *Message) error {
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	if n.Webhook.URL != "" {
		return n.Webhook.post(ctx, m)
	}
	return n.Mail.send(ctx, m)
}

// post posts a message to the webhook, signed if there is a key.
func (h *Webhook) post(ctx context.Context, m *Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address of the webhook is invalid")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "wasmjobd")
	if h.Key != "" {
		seconds := strconv.FormatInt(time.Now().Unix(), 10)
		sum := hmac.New(sha256.New, []byte(h.Key))
		sum.Write(fmt.Appendf(nil, "%s.%s", seconds, body))
		r.Header.Set(SignatureHeader, "t="+seconds+",v1="+hex.EncodeToString(sum.Sum(nil)))
	}
	// A redirect would send the signed message to another address.
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := c.Do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok { // it repeats the address
			err = u.Err
		}
		return fmt.Errorf("post to the webhook: %w", err)
	}
	defer got.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(got.Body, maxAnswer)) // only the status matters
	if got.StatusCode < 200 || got.StatusCode > 299 {
		return fmt.Errorf("post to the webhook: it answered %d", got.StatusCode)
	}
	return nil
}
