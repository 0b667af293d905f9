package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host/operator"
)

type backfillBody struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Items []int     `json:"items"`
	Force bool      `json:"force"`
}

type backfillDocument struct {
	Version int `json:"version"`
	operator.Backfill
}

// backfillRoutes are the routes of backfills below the path of a job.
func backfillRoutes(job string) []route {
	return []route{
		{
			method: http.MethodPost, path: job + ":backfill", right: operator.Operate, fails: []string{codeInvalid, codeRefused},
			does: action{takes: reflect.TypeFor[backfillBody](), gives: reflect.TypeFor[backfillDocument](), status: http.StatusOK, reports: true, do: backfillJob},
			says: "does what `backfill` does: missed instants from \"from\" until right before \"to\" begin late, of all items or of \"items\"; without \"to\", until now. It reads the histories of all servers, and is refused if one cannot be read, unless \"force\" is true. " +
				"With \"dry_run\" nothing begins, and the answer shows what would. A second request with the same header `" + keyHeader + "` within a day requests nothing, and its answer has \"again\"",
			header: []parameter{keyParameter},
		},
		{
			method: http.MethodPost, path: job + ":cancel-backfill", right: operator.Operate, fails: []string{codeInvalid, codeRefused},
			does: onJob(func(r *request, name string, b *itemsBody) error {
				if err := emptyItems(b.Items); err != nil {
					return err
				}
				return r.op.CancelBackfill(r.Context(), name, b.Items)
			}),
			says: "drops the instants of a backfill that still wait: of \"items\" or, without it, of all items",
		},
	}
}

// backfillJob requests runs for missed instants of a range.
func backfillJob(r *request) error {
	name, err := r.jobName()
	if err != nil {
		return err
	}
	body := backfillBody{To: time.Now()} // for a body without "to"
	if err := r.readBody(&body); err != nil {
		return err
	}
	if err := emptyItems(body.Items); err != nil {
		return err
	}
	key, err := r.key()
	if err != nil {
		return err
	}
	r.recallAll()
	b, err := r.op.Backfill(r.Context(), name, operator.BackfillRange{From: body.From, To: body.To, Items: body.Items, Key: key, DryRun: r.dry(), Force: body.Force})
	if err != nil {
		return err
	}
	return r.answer(backfillDocument{1, b})
}

// Backfill is operator.Operator.Backfill.
func (c *Client) Backfill(ctx context.Context, name string, r operator.BackfillRange) (operator.Backfill, error) {
	name, err := checkName(name)
	if err != nil {
		return operator.Backfill{}, err
	}
	sent := map[string]any{"from": r.From, "to": r.To, "force": r.Force}
	if len(r.Items) > 0 {
		sent["items"] = r.Items
	}
	query := url.Values{dryName: {strconv.FormatBool(r.DryRun)}}
	var d backfillDocument
	err = c.postOnce(ctx, jobPath(name)+":backfill?"+query.Encode(), r.Key, sent, &d)
	return d.Backfill, err
}

// postOnce sends a body with an idempotency key, unless that is empty.
func (c *Client) postOnce(ctx context.Context, path, key string, body, to any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("write a request: %w", err)
	}
	ask, err := c.newRequest(ctx, http.MethodPost, path, jsonType, bytes.NewReader(text))
	if err != nil {
		return err
	}
	if key != "" {
		ask.Header.Set(keyHeader, key)
	}
	answer, err := c.do(ask)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	return c.decode(answer.Body, ask.Method, to)
}

// CancelBackfill is operator.Operator.CancelBackfill.
func (c *Client) CancelBackfill(ctx context.Context, name string, items []int) error {
	body := map[string]any{}
	if len(items) > 0 {
		body["items"] = items
	}
	return c.post(ctx, name, ":cancel-backfill", body)
}
