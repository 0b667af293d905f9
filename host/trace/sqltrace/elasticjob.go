package sqltrace

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/trace"
)

// The tables of ElasticJob's event trace, which its console reads. {truth} is the type of
// is_success: in PostgreSQL it is a boolean since release 3, where 2.1.5 could not create its
// tables at all.
const (
	elasticJobExecutions = "CREATE TABLE IF NOT EXISTS JOB_EXECUTION_LOG (id VARCHAR(40) NOT NULL, job_name VARCHAR(100) NOT NULL, " +
		"task_id VARCHAR(255) NOT NULL, hostname VARCHAR(255) NOT NULL, ip VARCHAR(50) NOT NULL, sharding_item INT NOT NULL, " +
		"execution_source VARCHAR(20) NOT NULL, failure_cause VARCHAR(4000) NULL, is_success {truth} NOT NULL, start_time TIMESTAMP NULL, " +
		"complete_time TIMESTAMP NULL, PRIMARY KEY (id)){options}"
	elasticJobStates = "CREATE TABLE IF NOT EXISTS JOB_STATUS_TRACE_LOG (id VARCHAR(40) NOT NULL, job_name VARCHAR(100) NOT NULL, " +
		"original_task_id VARCHAR(255) NOT NULL, task_id VARCHAR(255) NOT NULL, slave_id VARCHAR(50) NOT NULL, source VARCHAR(50) NOT NULL, " +
		"execution_type VARCHAR(20) NOT NULL, sharding_item VARCHAR(100) NOT NULL, state VARCHAR(20) NOT NULL, message VARCHAR(4000) NULL, " +
		"creation_time TIMESTAMP NULL, PRIMARY KEY (id)){options}"

	insertExecution = "INSERT INTO JOB_EXECUTION_LOG (id, job_name, task_id, hostname, ip, sharding_item, execution_source, failure_cause, " +
		"is_success, start_time, complete_time) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
	insertState = "INSERT INTO JOB_STATUS_TRACE_LOG (id, job_name, original_task_id, task_id, slave_id, source, execution_type, sharding_item, " +
		"state, message, creation_time) VALUES (?, ?, '', ?, ?, 'LITE_EXECUTOR', 'READY', ?, ?, ?, ?) "
)

// makeElasticJob creates the tables of ElasticJob if they do not exist. Without their index they
// can be written.
func (s *Store) makeElasticJob(ctx context.Context) error {
	for table, statement := range map[string]string{"JOB_EXECUTION_LOG": elasticJobExecutions, "JOB_STATUS_TRACE_LOG": elasticJobStates} {
		has, err := s.columnsOf(ctx, table)
		if err != nil {
			return err
		}
		if len(has) > 0 { // a user without the right to create tables can use an existing one
			continue
		}
		if _, err := s.db.ExecContext(ctx, s.dialect.spell(statement)); err != nil {
			return s.fail("create the tables of ElasticJob", err)
		}
	}
	if err := s.makeIndex(ctx, "TASK_ID_STATE_INDEX", "JOB_STATUS_TRACE_LOG", "(task_id, state)"); err != nil {
		s.log.Warn("ElasticJob's console may be slow: its table JOB_STATUS_TRACE_LOG has no index", "error", err)
	}
	return nil
}

// mirror writes the runs of a batch into ElasticJob's tables. What those refuse, such as a text
// outside their character set, is missing there and holds up nothing. The error says that the
// transaction cannot go on, or that it may succeed later, such as on a full disk.
func (s *Store) mirror(ctx context.Context, tx *sql.Tx, batch []trace.Row) error {
	refusal, err := s.tryElasticJob(ctx, tx, batch)
	if refusal == nil || err != nil {
		return err
	}
	missing := 0
	for i := range batch { // so that only refused rows are missing
		one, err := s.tryElasticJob(ctx, tx, batch[i:i+1])
		if err != nil {
			return err
		}
		if one != nil {
			missing, refusal = missing+1, one
		}
	}
	if missing > 0 {
		s.log.Warn("the tables of ElasticJob refuse runs, which are in the history alone", "runs", missing, "error", refusal)
	}
	return nil
}

// tryElasticJob writes all of the rows, or none if the tables refuse one of them.
func (s *Store) tryElasticJob(ctx context.Context, tx *sql.Tx, rows []trace.Row) (refusal, err error) {
	if _, err := tx.ExecContext(ctx, "SAVEPOINT elasticjob"); err != nil {
		return nil, err
	}
	refusal = s.writeElasticJob(ctx, tx, rows)
	if refusal == nil || mayPass(refusal) {
		return nil, refusal
	}
	_, err = tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT elasticjob")
	return refusal, err
}

// writeElasticJob writes the runs that began into ElasticJob's tables. A row comes when its run
// has ended, so everything that ElasticJob would have written over time is written at once. Ids
// are derived from the row, and existing rows stay.
func (s *Store) writeElasticJob(ctx context.Context, tx *sql.Tx, batch []trace.Row) error {
	execution, err := tx.PrepareContext(ctx, s.dialect.bind(insertExecution+s.dialect.stay))
	if err != nil {
		return err
	}
	defer execution.Close()
	state, err := tx.PrepareContext(ctx, s.dialect.bind(insertState+s.dialect.stay))
	if err != nil {
		return err
	}
	defer state.Close()
	for i := range batch {
		r := &batch[i]
		if r.Start == 0 || r.Count > 0 {
			continue // no guest began
		}
		job, task := shorten(r.Job, 100), shorten(r.TaskID, 255)
		ip, _, _ := strings.Cut(r.Instance, "@-@")
		ip = shorten(ip, 50)
		good, cause, end, message := r.State == trace.Succeeded, sql.NullString{}, "TASK_FINISHED", ""
		if !good {
			cause = sql.NullString{String: shorten(failureOf(r), 4000), Valid: true}
			end, message = "TASK_ERROR", shorten(fmt.Sprintf("{%d=%s}", r.Item, failureOf(r)), 4000)
		}
		_, err := execution.ExecContext(ctx, idOf(r, ""), job, task, ip, ip, r.Item, sourceOf(r.Cause), cause, good, timestamp(r.Start), timestamp(r.End))
		if err != nil {
			return err
		}
		for _, step := range []struct {
			state, message string
			at             int64
		}{
			{"TASK_STAGING", "Job '" + job + "' execute begin.", r.Start}, {"TASK_RUNNING", "", r.Start}, {end, message, max(r.Start, r.End)}, // an End of 0 is unknown, but rows without a time would never be purged
		} {
			if _, err := state.ExecContext(ctx, idOf(r, step.state), job, task, ip, fmt.Sprintf("[%d]", r.Item), step.state, step.message, timestamp(step.at)); err != nil {
				return err
			}
		}
	}
	return nil
}

// purgeElasticJob deletes rows by age, in small transactions. Rows of ElasticJob's members
// stay; their ids have another length.
func (s *Store) purgeElasticJob(ctx context.Context, keep Retention) error {
	if !s.elasticJob || keep.Age == 0 {
		return nil
	}
	for table, at := range map[string]string{"JOB_EXECUTION_LOG": "start_time", "JOB_STATUS_TRACE_LOG": "creation_time"} {
		old := &conditions{}
		old.add(at+" < ?", keep.Now.Add(-keep.Age))
		old.add("CHAR_LENGTH(id) = ?", idLength)
		if keep.Job != "" {
			old.add("job_name = ?", shorten(keep.Job, 100))
		}
		for last, n := "", purgeChunk; n == purgeChunk; {
			var err error
			if last, n, err = s.purgeIDs(ctx, table, old, last); err != nil {
				return err
			}
		}
	}
	return nil
}

// purgeIDs deletes a chunk of the rows whose ids are greater than after. It returns the last
// id, so that the table, which has no index by time, is read only once.
func (s *Store) purgeIDs(ctx context.Context, table string, old *conditions, after string) (last string, n int, err error) {
	rows, err := s.query(ctx, "SELECT id FROM "+table+old.String()+" AND id > ? ORDER BY id LIMIT ?", append(slices.Clip(old.args), after, purgeChunk)...)
	if err != nil {
		return "", 0, s.fail("look for old rows of "+table, err)
	}
	defer rows.Close()
	ids := make([]string, 0, purgeChunk)
	for rows.Next() {
		if err := rows.Scan(&last); err != nil {
			return "", 0, s.fail("look for old rows of "+table, err)
		}
		ids = append(ids, last)
	}
	if err := rows.Err(); err != nil || len(ids) == 0 {
		return "", 0, s.fail("look for old rows of "+table, err)
	}
	return last, len(ids), s.exclusively(ctx, fmt.Sprintf("purge %d rows of %s", len(ids), table), func(ctx context.Context, tx *sql.Tx) error {
		del, err := tx.PrepareContext(ctx, s.dialect.bind("DELETE FROM "+table+" WHERE id = ?"))
		if err != nil {
			return err
		}
		defer del.Close()
		for _, id := range ids {
			if _, err := del.ExecContext(ctx, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// failureOf returns what ElasticJob's console shows as the cause of a failure: the guest's error
// or else the state and its reason.
func failureOf(r *trace.Row) string {
	if r.Error != "" {
		return r.Error
	}
	if why := r.Reason.String(); why != "" {
		return string(r.State) + ": " + why
	}
	return string(r.State)
}

// sourceOf returns ElasticJob's word for a cause. It knows only three.
func sourceOf(c trace.Cause) string {
	switch c {
	case trace.Misfire, trace.CatchUp:
		return "MISFIRE"
	case trace.Failover:
		return "FAILOVER"
	case trace.Schedule, trace.After, trace.Trigger, trace.Retry, trace.Backfill:
	}
	return "NORMAL_TRIGGER"
}

// idLength is the length of our ids; ElasticJob's have 36 characters.
const idLength = 32

// idOf returns an id derived from a row and what, so that it is the same each time.
func idOf(r *trace.Row, what string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %q %d %s", r.Job, r.Item, r.Run, r.Attempt, what))
	return hex.EncodeToString(sum[:idLength/2])
}

// shorten limits s to a number of characters as ElasticJob counts them. Existing tables may not
// support four-byte characters.
func shorten(s string, limit int) string {
	out := make([]rune, 0, min(limit, len(s)))
	for _, c := range s {
		if len(out) == limit {
			break
		}
		switch {
		case c == 0:
			c = ' '
		case c > 0xffff:
			c = '\uFFFD'
		}
		out = append(out, c)
	}
	return string(out)
}

// timestamp returns NULL for an unknown time, and for times beyond the TIMESTAMP of MySQL.
func timestamp(ms int64) sql.NullTime {
	return sql.NullTime{Time: time.UnixMilli(ms), Valid: ms >= 1000 && ms < math.MaxInt32*1000}
}
