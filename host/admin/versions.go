package admin

import (
	"context"
	"net/http"
	"net/url"

	"github.com/wasmjob/wasmjob/host/operator"
)

const versionsPath = "/api/v1/versions"

// versionsDocument has all modules with names: there are not many.
type versionsDocument struct {
	Version  int                    `json:"version"`
	Versions []operator.NamedModule `json:"versions"`
}

func versionsRoute() route {
	return route{
		method: http.MethodGet, path: versionsPath, right: operator.View,
		does: shows(func(r *request) (versionsDocument, error) {
			all, err := r.op.Named(r.Context())
			return versionsDocument{1, orEmpty(all)}, err
		}),
		says: "answers with the modules that have names, by name and version",
	}
}

type resolvedDocument struct {
	Version int    `json:"version"`
	Digest  string `json:"digest"`
}

func resolveRoute() route {
	return route{
		method: http.MethodGet, path: versionsPath + "/{version}", right: operator.View, fails: []string{codeInvalid},
		does: shows(func(r *request) (resolvedDocument, error) {
			digest, err := r.op.Resolve(r.Context(), r.PathValue("version"))
			return resolvedDocument{1, digest}, err
		}),
		says: "answers with the digest of the module of a version, as orders@1.4.0",
	}
}

func unnameRoute() route {
	return route{
		method: http.MethodDelete, path: versionsPath + "/{version}", right: operator.Publish, fails: []string{codeInvalid, codeRefused},
		does: action{status: http.StatusNoContent, do: func(r *request) error {
			if err := r.op.UnnameModule(r.Context(), r.PathValue("version")); err != nil {
				return err
			}
			r.w.WriteHeader(http.StatusNoContent)
			return nil
		}},
		says: "does what `module rm` does",
	}
}

// Resolve is operator.Operator.Resolve.
func (c *Client) Resolve(ctx context.Context, text string) (digest string, err error) {
	var d resolvedDocument
	err = c.read(ctx, http.MethodGet, versionsPath+"/"+url.PathEscape(text), nil, &d)
	return d.Digest, err
}

// Named is operator.Operator.Named.
func (c *Client) Named(ctx context.Context) ([]operator.NamedModule, error) {
	var d versionsDocument
	err := c.read(ctx, http.MethodGet, versionsPath, nil, &d)
	return d.Versions, err
}

// UnnameModule is operator.Operator.UnnameModule.
func (c *Client) UnnameModule(ctx context.Context, text string) error {
	return c.askOnly(ctx, http.MethodDelete, versionsPath+"/"+url.PathEscape(text), nil)
}

// PinModule is operator.Operator.PinModule.
func (c *Client) PinModule(ctx context.Context, name string) error {
	return c.post(ctx, name, ":pin-module", nil)
}

// UnpinModule is operator.Operator.UnpinModule.
func (c *Client) UnpinModule(ctx context.Context, name string) error {
	return c.post(ctx, name, ":unpin-module", nil)
}
