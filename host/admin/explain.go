package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host/operator"
)

type explanationDocument struct {
	Version int `json:"version"`
	operator.Explanation
}

// explainJob answers as `job explain`.
func explainJob(r *request) (explanationDocument, error) {
	name, err := r.jobName()
	if err != nil {
		return explanationDocument{}, err
	}
	q := operator.Question{Job: name}
	if text := r.query.Get("item"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return explanationDocument{}, wrongParameter("item", fmt.Sprintf("%.64q is not the number of an item", text))
		}
		q.Item = &n
	}
	if text := r.query.Get("at"); text != "" {
		if q.At, err = time.Parse(time.RFC3339, text); err != nil {
			return explanationDocument{}, wrongParameter("at", fmt.Sprintf("%.64q is not a time such as 2026-01-31T12:00:00Z", text))
		}
	}
	r.recallAll()
	e, err := r.op.Explain(r.Context(), q)
	if err != nil {
		return explanationDocument{}, err
	}
	return explanationDocument{Version: 1, Explanation: *e}, nil
}

// Explain is operator.Operator.Explain, with the histories of the cluster.
func (c *Client) Explain(ctx context.Context, q operator.Question) (*operator.Explanation, error) {
	query := url.Values{}
	if q.Item != nil {
		query.Set("item", strconv.Itoa(*q.Item))
	}
	if !q.At.IsZero() {
		query.Set("at", q.At.UTC().Format(time.RFC3339Nano))
	}
	var d explanationDocument
	if err := c.readJob(ctx, http.MethodGet, q.Job, "/explain?"+query.Encode(), nil, &d); err != nil {
		return nil, err
	}
	return &d.Explanation, nil
}
