package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/wasmjob/wasmjob/host/operator"
)

const maintenancePath = "/api/v1/maintenance"

// maintenanceRoutes are those of the maintenance, a period without alerts in which jobs are paused.
func maintenanceRoutes() []route {
	return []route{
		{method: http.MethodGet, path: maintenancePath, right: operator.View, does: shows(showMaintenance), says: "answers as `maintenance list`", fails: []string{codeRefused}},
		{
			method: http.MethodPost, path: maintenancePath, right: operator.Operate, does: calls(startMaintenance), fails: []string{codeInvalid, codeRefused, codeNotFound},
			says: "does what `maintenance start` does: \"for\" is a time such as 1h, and \"reason\" says why. It pauses the \"jobs\", or with \"all\" all jobs",
		},
		{method: http.MethodDelete, path: maintenancePath, right: operator.Operate, does: calls(endMaintenance), says: "does what `maintenance end` does", fails: []string{codeInvalid, codeRefused, codeNotFound}},
	}
}

type maintenanceBody struct {
	For    string   `json:"for"`
	Reason string   `json:"reason"`
	Jobs   []string `json:"jobs"`
	All    bool     `json:"all"`
}

type presentMaintenanceDocument struct {
	Version     int                   `json:"version"`
	Maintenance *operator.Maintenance `json:"maintenance,omitempty"` // none: there is none
}

func showMaintenance(r *request) (presentMaintenanceDocument, error) {
	m, err := r.op.Maintenance(r.Context())
	return presentMaintenanceDocument{1, m}, err
}

func startMaintenance(r *request, b *maintenanceBody) (presentMaintenanceDocument, error) {
	life, err := time.ParseDuration(b.For)
	if err != nil {
		return presentMaintenanceDocument{}, noTime("/for", b.For, "write a time such as 1h")
	}
	m, err := r.op.StartMaintenance(r.Context(), operator.MaintenanceTerms{For: life, Why: b.Reason, Jobs: b.Jobs, All: b.All})
	return presentMaintenanceDocument{1, m}, err
}

func endMaintenance(r *request, _ *nothing) (presentMaintenanceDocument, error) {
	m, err := r.op.EndMaintenance(r.Context())
	return presentMaintenanceDocument{1, m}, err
}

// Maintenance is operator.Operator.Maintenance.
func (c *Client) Maintenance(ctx context.Context) (*operator.Maintenance, error) {
	return c.maintenance(ctx, http.MethodGet, nil)
}

// StartMaintenance is operator.Operator.StartMaintenance.
func (c *Client) StartMaintenance(ctx context.Context, t operator.MaintenanceTerms) (*operator.Maintenance, error) {
	return c.maintenance(ctx, http.MethodPost, maintenanceBody{For: t.For.String(), Reason: t.Why, Jobs: orEmpty(t.Jobs), All: t.All})
}

// EndMaintenance is operator.Operator.EndMaintenance.
func (c *Client) EndMaintenance(ctx context.Context) (*operator.Maintenance, error) {
	return c.maintenance(ctx, http.MethodDelete, nil)
}

// maintenance sends a request about the maintenance, and returns the one in the answer; nil if there is none.
func (c *Client) maintenance(ctx context.Context, method string, body any) (*operator.Maintenance, error) {
	var d presentMaintenanceDocument
	err := c.read(ctx, method, maintenancePath, body, &d)
	return d.Maintenance, err
}
