package admin

import (
	"context"
	"net/http"

	"github.com/wasmjob/wasmjob/host/operator"
)

// askedDocument describes the requested runs.
type askedDocument struct {
	Version int `json:"version"`
	operator.Asked
}

type itemsBody struct {
	Items []int `json:"items"`
}

type triggerItemsBody struct {
	Items []int   `json:"items"`
	Param *string `json:"param"`
}

// triggerItems runs some items of a job now.
func triggerItems(r *request, name string, b *triggerItemsBody) (askedDocument, error) {
	key, err := r.key()
	if err != nil {
		return askedDocument{}, err
	}
	asked, err := r.op.TriggerItems(r.Context(), name, operator.ItemsWanted{Items: b.Items, Param: b.Param, Key: key})
	return askedDocument{1, asked}, err
}

type retryBody struct {
	Run   *string `json:"run"`
	Items []int   `json:"items"`
}

// retryRun retries the failed items of a run.
func retryRun(r *request, name string, b *retryBody) (askedDocument, error) {
	run, err := textIn("run", b.Run)
	if err == nil {
		err = emptyItems(b.Items)
	}
	if err != nil {
		return askedDocument{}, err
	}
	r.recallAll()
	asked, err := r.op.Retry(r.Context(), name, run, b.Items)
	return askedDocument{1, asked}, err
}

// TriggerItems is operator.Operator.TriggerItems.
func (c *Client) TriggerItems(ctx context.Context, name string, want operator.ItemsWanted) (operator.Asked, error) {
	name, err := checkName(name)
	if err != nil {
		return operator.Asked{}, err
	}
	body := map[string]any{"items": append([]int{}, want.Items...)} // a list, even without items
	if want.Param != nil {
		body["param"] = *want.Param
	}
	var d askedDocument
	err = c.postOnce(ctx, jobPath(name)+":trigger-items", want.Key, body, &d)
	return d.Asked, err
}

// Retry is operator.Operator.Retry.
func (c *Client) Retry(ctx context.Context, name, run string, items []int) (operator.Asked, error) {
	body := map[string]any{}
	if run != "" {
		body["run"] = run
	}
	if len(items) > 0 {
		body["items"] = items
	}
	var d askedDocument
	err := c.readJob(ctx, http.MethodPost, name, ":retry", body, &d)
	return d.Asked, err
}

// cancelledDocument lists the runs that were asked to end.
type cancelledDocument struct {
	Version int                `json:"version"`
	Runs    []operator.OpenRun `json:"runs"`
}

type cancelBody struct {
	Run  *string `json:"run"`
	Item *int    `json:"item"`
	Now  bool    `json:"now"`
}

// cancelRuns ends open runs of a job.
func cancelRuns(r *request, name string, b *cancelBody) (cancelledDocument, error) {
	run, err := textIn("run", b.Run)
	if err != nil {
		return cancelledDocument{}, err
	}
	runs, err := r.op.Cancel(r.Context(), name, operator.CancelFilter{Run: run, Item: b.Item, Now: b.Now})
	return cancelledDocument{1, runs}, err
}

// Cancel is operator.Operator.Cancel.
func (c *Client) Cancel(ctx context.Context, name string, f operator.CancelFilter) ([]operator.OpenRun, error) {
	body := map[string]any{"now": f.Now}
	if f.Run != "" {
		body["run"] = f.Run
	}
	if f.Item != nil {
		body["item"] = *f.Item
	}
	var d cancelledDocument
	err := c.readJob(ctx, http.MethodPost, name, ":cancel", body, &d)
	return d.Runs, err
}
