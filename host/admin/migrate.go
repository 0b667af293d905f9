package admin

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strconv"

	"github.com/wasmjob/wasmjob/host/operator"
)

type migrateBody struct {
	To   string `json:"to"`
	Back bool   `json:"back"`
}

type migratedDocument struct {
	Version int `json:"version"`
	operator.Migration
}

// migrateRoute is the route of a migration below the path of a job.
func migrateRoute(job string) route {
	return route{
		method: http.MethodPost, path: job + ":migrate", right: operator.Administer, fails: []string{codeInvalid, codeRefused},
		does: action{takes: reflect.TypeFor[migrateBody](), gives: reflect.TypeFor[migratedDocument](), status: http.StatusOK, reports: true, do: migrateJob},
		says: "does what `job migrate` does with a job that nobody runs: moves it to the layout \"to\", or with \"back\" to the one that it had. The same request finishes an interrupted migration. " +
			"With \"dry_run\" the answer shows what would be written, and nothing is",
	}
}

// migrateJob moves the job in the path to another layout.
func migrateJob(r *request) error {
	name, err := r.jobName()
	if err != nil {
		return err
	}
	var b migrateBody
	if err := r.readBody(&b); err != nil {
		return err
	}
	if (b.To == "") != b.Back {
		return refuse(http.StatusUnprocessableEntity, codeInvalid, `say where the job is to go: one of "to" and "back"`)
	}
	done, err := r.op.Migrate(r.Context(), name, operator.Move{To: b.To, Back: b.Back, DryRun: r.dry()})
	if err != nil {
		return err
	}
	return r.answer(migratedDocument{1, *done})
}

// Migrate is operator.Operator.Migrate.
func (c *Client) Migrate(ctx context.Context, name string, want operator.Move) (*operator.Migration, error) {
	name, err := checkName(name)
	if err != nil {
		return nil, err
	}
	query := url.Values{dryName: {strconv.FormatBool(want.DryRun)}}
	var d migratedDocument
	err = c.read(ctx, http.MethodPost, jobPath(name)+":migrate?"+query.Encode(), migrateBody{want.To, want.Back}, &d)
	return &d.Migration, err
}
