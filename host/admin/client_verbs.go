package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
)

// verbOf returns the verb in a path that disables or enables.
func verbOf(disabled bool) string {
	if disabled {
		return ":disable"
	}
	return ":enable"
}

// SetJob is operator.Operator.SetJob.
func (c *Client) SetJob(ctx context.Context, name string, disabled bool) error {
	return c.post(ctx, name, verbOf(disabled), nil)
}

// SetItem is operator.Operator.SetItem.
func (c *Client) SetItem(ctx context.Context, name string, item int, disabled bool) error {
	return c.post(ctx, name, "/shards/"+strconv.Itoa(item)+verbOf(disabled), nil)
}

// SetServer is operator.Operator.SetServer.
func (c *Client) SetServer(ctx context.Context, name, ip string, disabled bool) error {
	return c.post(ctx, name, verbOf(disabled), map[string]string{"server": ip})
}

// SetServers is operator.Operator.SetServers.
func (c *Client) SetServers(ctx context.Context, ip string, disabled bool) (set, unread []string, err error) {
	return c.serverVerb(ctx, ip, verbOf(disabled), nil)
}

// serverVerb sends a request about the servers at an address, and returns what Operator.SetServers returns. It
// refuses names that would make another path.
func (c *Client) serverVerb(ctx context.Context, ip, verb string, body any) (set, unread []string, err error) {
	if ip == "" || ip == "." || ip == ".." {
		return nil, nil, &host.Error{Code: host.NotFound, Msg: fmt.Sprintf("no job knows a server %q", ip)}
	}
	var d setDocument
	err = c.read(ctx, http.MethodPost, serversPath+"/"+url.PathEscape(ip)+verb, body, &d)
	return d.Jobs, d.Unread, err
}

// Drain is operator.Operator.Drain.
func (c *Client) Drain(ctx context.Context, ip, why string) (set, unread []string, err error) {
	return c.serverVerb(ctx, ip, ":drain", drainBody{Reason: why})
}

// Undrain is operator.Operator.Undrain.
func (c *Client) Undrain(ctx context.Context, ip string) (set, unread []string, err error) {
	return c.serverVerb(ctx, ip, ":undrain", nil)
}

// Servers is operator.Operator.Servers.
func (c *Client) Servers(ctx context.Context) ([]operator.ServerReport, error) {
	var d serversDocument
	err := c.read(ctx, http.MethodGet, serversPath, nil, &d)
	return d.Servers, err
}

// Shutdown is operator.Operator.Shutdown.
func (c *Client) Shutdown(ctx context.Context, name string, w operator.Which) ([]job.InstanceID, error) {
	body := map[string]any{}
	switch {
	case w.All:
		body["all"] = true
	case w.IP != "":
		body["server"] = w.IP
	default:
		body["instance"] = w.Instance
	}
	var d shutdownDocument
	err := c.readJob(ctx, http.MethodPost, name, ":shutdown", body, &d)
	return d.Instances, err
}

// Remove is operator.Operator.Remove.
func (c *Client) Remove(ctx context.Context, name string, force bool) error {
	name, err := checkName(name)
	if err != nil {
		return err
	}
	var body any
	if force {
		body = map[string]any{"force": true}
	}
	return c.askOnly(ctx, http.MethodDelete, jobPath(name), body)
}

// Dump is operator.Operator.Dump.
func (c *Client) Dump(ctx context.Context, name string, to io.Writer) error {
	name, err := checkName(name)
	if err != nil {
		return err
	}
	answer, err := c.ask(ctx, http.MethodGet, jobPath(name)+"/dump", nil)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(to, io.LimitReader(answer.Body, maxAnswer)); err != nil {
		return lost(http.MethodGet, c.path, fmt.Errorf("read the dump: %w", err))
	}
	return nil
}
