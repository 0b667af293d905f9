package sqltrace

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/wasmjob/wasmjob/host/trace"
)

// Limits of a row, in bytes. Longer texts are cut, with a mark. A name is part of the row's
// identity, so a longer one is refused with trace.ErrRow.
const (
	MaxName   = 255
	MaxResult = 64 << 10
	MaxError  = 16 << 10
	MaxText   = 4 << 10 // reason, instance, task id, digest, schedule, param
	// MaxMetrics is more than a guest can store. Longer metrics are refused with trace.ErrRow,
	// as a cut document would be invalid.
	MaxMetrics = 16 << 10
	MaxLog     = 16 << 10
)

const columns = "job, item, run, attempt, instant_ms, last_ms, instants, cause, state, " +
	"reason, instance, task_id, start_ms, end_ms, result, error, digest, fence, fuel, succeeded, failed, metrics, code, " + added

// added are the columns that were added without a new version, in that order: older programs
// ignore them, and tables of older programs are read without them.
const added = "schedule, reason_code, " + guestLog + ", param"

// guestLog is the column of the guest's log. It may be large, so it is read only on request.
const guestLog = "guest_log"

const insert = "INSERT INTO wasmjobd_run (" + columns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "

// errRefused says that the database cannot store a row because of what is in it.
var errRefused = errors.New("the database refuses a row")

// Write implements trace.Sink: the batch is one transaction, on disk before Write returns nil.
// A row that is already stored stays as it is, except that a run that was taken over gets its
// end. A batch with a row that can never be stored (running, without a name, or with names that
// are too long) is refused as a whole with trace.ErrRow.
func (s *Store) Write(ctx context.Context, batch []trace.Row) error {
	for i := range batch {
		if err := storable(&batch[i]); err != nil {
			return err
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return s.exclusively(ctx, fmt.Sprintf("write %d rows", len(batch)), func(ctx context.Context, tx *sql.Tx) error {
		put, err := tx.PrepareContext(ctx, s.dialect.bind(insert+s.dialect.become))
		if err != nil {
			return err
		}
		defer put.Close()
		for i := range batch {
			r := &batch[i]
			_, err := put.ExecContext(ctx, r.Job, r.Item, r.Run, r.Attempt, r.Instant, r.Last, r.Count,
				string(r.Cause), string(r.State), text(r.Reason.String(), MaxText), text(r.Instance, MaxText),
				text(r.TaskID, MaxText), r.Start, r.End, []byte(cut(r.Result, MaxResult)),
				text(r.Error, MaxError), text(r.Digest, MaxText), r.Fence,
				r.Fuel, r.Succeeded, r.Failed, sql.NullString{String: r.Metrics, Valid: r.Metrics != ""},
				sql.NullInt32{Int32: r.Code, Valid: r.HasCode},
				sql.NullString{String: text(r.Schedule, MaxText), Valid: r.Schedule != ""},
				sql.NullString{String: text(r.Reason.Key(), MaxText), Valid: r.Reason.Code != ""},
				sql.NullString{String: text(r.Log, MaxLog), Valid: r.HasLog},
				sql.NullString{String: text(r.Param, MaxText), Valid: r.Param != ""})
			if refusesRow(err) {
				return fmt.Errorf("%w: %w", errRefused, err)
			}
			if err != nil {
				return err
			}
		}
		if s.elasticJob {
			return s.mirror(ctx, tx, batch)
		}
		return nil
	})
}

// storable refuses a row that some kind of database can never store. The error is trace.ErrRow.
func storable(r *trace.Row) error {
	var problem string
	switch {
	case r.Job == "" || len(r.Job) > MaxName || r.Run == "" || len(r.Run) > MaxName:
		problem = fmt.Sprintf("job and run need 1 to %d bytes", MaxName)
	case !isText(r.Job) || !isText(r.Run):
		problem = "job and run must be text"
	case !isNumber(r.Item) || !isNumber(r.Attempt) || r.Count < 0:
		problem = "item, attempt and count must not be negative, and the first two have 31 bits"
	case r.State == "" || r.State == trace.Running || !isWord(string(r.State)) || !isWord(string(r.Cause)):
		problem = fmt.Sprintf("state %.20q, cause %.20q", r.State, r.Cause)
	case len(r.Metrics) > MaxMetrics || r.Metrics != "" && !json.Valid([]byte(r.Metrics)) || !utf8.ValidString(r.Metrics):
		problem = fmt.Sprintf("metrics are not a JSON object of at most %d bytes", MaxMetrics)
	default:
		return nil
	}
	return fmt.Errorf("%w: job %.80q item %d run %.80q: %s", trace.ErrRow, r.Job, r.Item, r.Run, problem)
}

// isWord reports whether s is short enough for a state or cause.
func isWord(s string) bool { return len(s) <= 16 && isText(s) }

// isNumber reports whether every database accepts n as an item or attempt.
func isNumber(n int) bool { return n >= 0 && n <= math.MaxInt32 }

// isText reports whether every database accepts s as text.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// text makes s a text that every database accepts, of at most limit bytes.
func text(s string, limit int) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.ContainsRune(s, 0) {
		s = strings.ReplaceAll(s, "\x00", " ")
	}
	return cut(s, limit)
}

// cut limits s to limit bytes; a text that is cut ends in a mark with the full length.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	mark := fmt.Sprintf("… [cut from %d bytes]", len(s))
	keep := limit - len(mark)
	// Do not cut within a rune. Four steps, since arbitrary bytes may not be runes.
	for back := keep; back > keep-utf8.UTFMax; back-- {
		if utf8.RuneStart(s[back]) {
			keep = back
			break
		}
	}
	return s[:keep] + mark
}
