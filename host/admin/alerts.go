package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/wasmjob/wasmjob/host/operator"
)

const alertsPath = "/api/v1/alerts"

// alertRoutes are those of alerts and silences.
func alertRoutes() []route {
	return []route{
		{method: http.MethodGet, path: alertsPath, right: operator.View, does: shows(listAlerts), says: "answers as `alert list`", fails: []string{codeRefused}},
		{
			method: http.MethodPost, path: jobsPath + "/{job}:silence", right: operator.Operate, does: callsJob(silenceJob), fails: []string{codeInvalid, codeRefused}, untagged: true,
			says: `does what ` + "`alert silence`" + ` does. "for" is a time such as 1h, "reason" says why`,
		},
		{method: http.MethodPost, path: jobsPath + "/{job}:unsilence", right: operator.Operate, does: jobVerb((*operator.Operator).Unsilence), says: "does what `alert unsilence` does", fails: []string{codeInvalid, codeRefused}, untagged: true},
	}
}

type alertsDocument struct {
	Version  int                `json:"version"`
	Alerts   []operator.Alert   `json:"alerts"`
	Silences []operator.Silence `json:"silences"`
}

// listAlerts answers with the problems of jobs that last or have just ended, and with the silences.
func listAlerts(r *request) (alertsDocument, error) {
	alerts, silences, err := r.op.Alerts(r.Context())
	return alertsDocument{1, orEmpty(alerts), orEmpty(silences)}, err
}

type silenceBody struct {
	For    string `json:"for"`
	Reason string `json:"reason"`
}

type newSilenceDocument struct {
	Version int `json:"version"`
	operator.Silence
}

// silenceJob holds back the alerts of a job for a while.
func silenceJob(r *request, name string, b *silenceBody) (newSilenceDocument, error) {
	life, err := time.ParseDuration(b.For)
	if err != nil {
		return newSilenceDocument{}, noTime("/for", b.For, "write a time such as 1h")
	}
	s, err := r.op.Silence(r.Context(), name, life, b.Reason)
	return newSilenceDocument{1, s}, err
}

// Alerts is operator.Operator.Alerts.
func (c *Client) Alerts(ctx context.Context) ([]operator.Alert, []operator.Silence, error) {
	var d alertsDocument
	err := c.read(ctx, http.MethodGet, alertsPath, nil, &d)
	return d.Alerts, d.Silences, err
}

// Silence is operator.Operator.Silence.
func (c *Client) Silence(ctx context.Context, name string, life time.Duration, why string) (operator.Silence, error) {
	var d newSilenceDocument
	err := c.readJob(ctx, http.MethodPost, name, ":silence", silenceBody{For: life.String(), Reason: why}, &d)
	return d.Silence, err
}

// Unsilence is operator.Operator.Unsilence.
func (c *Client) Unsilence(ctx context.Context, name string) error {
	return c.post(ctx, name, ":unsilence", nil)
}
