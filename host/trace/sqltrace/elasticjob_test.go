package sqltrace_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace/sqltest"
)

// ElasticJob's tables have each run that began, once however often its row comes, in texts that
// fit.
func TestTablesOfElasticJob(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(testing.TB) *sqltest.Server{"PostgreSQL": sqltest.Postgres, "MariaDB": sqltest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loc := address(t, server(t).Database(t))
			loc.ElasticJob = true
			s := open(t, loc)
			good, bad, none := run("a", 0, 10_000), run("a", 1, 10_000), run("b", 0, 10_000)
			good.TaskID, good.Start, good.End = "a@-@0@-@READY@-@10.0.0.1@-@7", 1_767_225_600_000, 1_767_225_601_000
			bad.State, bad.Error, bad.Cause = trace.Failed, "no such table", trace.Misfire
			bad.Start, bad.End = good.Start, 0
			none.Start, none.State, none.Reason = 0, trace.Skipped, reason.Text("nothing to do")
			long := run(strings.Repeat("😀", 60), 2, 10_000)
			long.State, long.TaskID, long.Error, long.Instance = trace.Failed, strings.Repeat("界", 300), strings.Repeat("\x00é", 3000), strings.Repeat("1", 80)
			write(t, s, good, bad, none, gap("a", 0, 10, 20, 2))
			write(t, s, good, long, long)
			open(t, loc) // a second server finds the tables

			db, err := loc.DB()
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			lines := func(query string) (out []string) {
				t.Helper()
				rows, err := db.QueryContext(t.Context(), query)
				if err != nil {
					t.Fatal(err)
				}
				defer rows.Close()
				for rows.Next() {
					var line string
					if err := rows.Scan(&line); err != nil {
						t.Fatal(err)
					}
					out = append(out, line)
				}
				if err := rows.Err(); err != nil {
					t.Fatal(err)
				}
				return out
			}
			got := lines("SELECT CONCAT_WS('|', job_name, task_id, hostname, ip, sharding_item, execution_source, COALESCE(failure_cause, '-'), " +
				"CASE WHEN is_success = (1 = 1) THEN 1 ELSE 0 END, CASE WHEN complete_time IS NULL THEN 'open' ELSE 'ended' END) FROM JOB_EXECUTION_LOG WHERE job_name = 'a' ORDER BY sharding_item")
			want := []string{
				"a|a@-@0@-@READY@-@10.0.0.1@-@7|10.0.0.1|10.0.0.1|0|NORMAL_TRIGGER|-|1|ended",
				"a||10.0.0.1|10.0.0.1|1|MISFIRE|no such table|0|open",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			got = lines("SELECT CONCAT_WS('|', task_id, original_task_id, slave_id, source, execution_type, sharding_item, state, message) FROM JOB_STATUS_TRACE_LOG " +
				"WHERE job_name = 'a' ORDER BY sharding_item, creation_time, state DESC")
			want = []string{
				"a@-@0@-@READY@-@10.0.0.1@-@7||10.0.0.1|LITE_EXECUTOR|READY|[0]|TASK_STAGING|Job 'a' execute begin.",
				"a@-@0@-@READY@-@10.0.0.1@-@7||10.0.0.1|LITE_EXECUTOR|READY|[0]|TASK_RUNNING|",
				"a@-@0@-@READY@-@10.0.0.1@-@7||10.0.0.1|LITE_EXECUTOR|READY|[0]|TASK_FINISHED|",
				"||10.0.0.1|LITE_EXECUTOR|READY|[1]|TASK_STAGING|Job 'a' execute begin.",
				"||10.0.0.1|LITE_EXECUTOR|READY|[1]|TASK_RUNNING|",
				"||10.0.0.1|LITE_EXECUTOR|READY|[1]|TASK_ERROR|{1=no such table}",
			}
			if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
				t.Error(diff)
			}
			if n := lines("SELECT CONCAT_WS('/', COUNT(*), MAX(CHAR_LENGTH(failure_cause)), MAX(CHAR_LENGTH(task_id))) FROM JOB_EXECUTION_LOG"); n[0] != "3/4000/255" {
				t.Errorf("executions, longest cause, longest id: %s", n)
			}
		})
	}
}

// Our rows are purged by age, in chunks; ElasticJob's rows stay.
func TestTablesOfElasticJobArePurged(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(testing.TB) *sqltest.Server{"PostgreSQL": sqltest.Postgres, "MariaDB": sqltest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loc := address(t, server(t).Database(t))
			loc.ElasticJob = true
			s := open(t, loc)
			now := time.UnixMilli(1_767_225_600_000)
			at := func(job string, n int64, age time.Duration) trace.Row {
				r := run(job, 0, 10_000+n)
				r.Start = now.Add(-age).UnixMilli()
				r.End = r.Start + 1
				return r
			}
			var rows []trace.Row
			for n := range int64(600) {
				rows = append(rows, at("a", n, 48*time.Hour))
			}
			open := at("a", 601, 48*time.Hour)
			open.End = 0
			write(t, s, append(rows, open, at("a", 602, time.Hour), at("b", 1, 48*time.Hour))...)
			db, err := loc.DB()
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			const java = "INSERT INTO JOB_EXECUTION_LOG (id, job_name, task_id, hostname, ip, sharding_item, execution_source, is_success, start_time) " +
				"VALUES ('01234567-89ab-cdef-0123-456789abcdef', 'a', '', '', '', 0, 'NORMAL_TRIGGER', (1 = 1), '2001-01-01 00:00:00')"
			if _, err := db.ExecContext(t.Context(), java); err != nil {
				t.Fatal(err)
			}
			expect := func(keep sqltrace.Retention, executions, states int) {
				t.Helper()
				keep.Now = now
				if _, err := s.Purge(t.Context(), keep); err != nil {
					t.Fatal(err)
				}
				for table, want := range map[string]int{"JOB_EXECUTION_LOG": executions, "JOB_STATUS_TRACE_LOG": states} {
					var got int
					if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&got); err != nil || got != want {
						t.Errorf("%+v: %s has %d rows, %v; want %d", keep, table, got, err, want)
					}
				}
			}
			expect(sqltrace.Retention{PerJob: 10_000}, 604, 603*3)
			expect(sqltrace.Retention{Age: 24 * time.Hour, Job: "b"}, 603, 602*3)
			expect(sqltrace.Retention{Age: 24 * time.Hour}, 2, 3)
		})
	}
}

// What ElasticJob's tables cannot hold is missing there alone, and every run is in the history.
func TestTablesOfElasticJobThatRefuseARun(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]struct {
		server func(testing.TB) *sqltest.Server
		narrow string // makes a table that holds the cause "ok", but not "找不到"
	}{
		"PostgreSQL": {sqltest.Postgres, "ALTER TABLE JOB_EXECUTION_LOG ADD CHECK (failure_cause = 'ok')"},
		"MariaDB":    {sqltest.MariaDB, "ALTER TABLE JOB_EXECUTION_LOG CONVERT TO CHARACTER SET latin1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := make(lines, 100)
			loc := address(t, kind.server(t).Database(t))
			loc.ElasticJob, loc.Log = true, slog.New(slog.NewTextHandler(log, nil))
			s := open(t, loc)
			execute(t, loc, kind.narrow)
			failed := func(instant int64, cause string) trace.Row {
				r := run("j", 0, instant)
				r.State, r.Error = trace.Failed, cause
				return r
			}
			want := []trace.Row{failed(40_000, "ok"), failed(30_000, "ok"), failed(20_000, "找不到"), failed(10_000, "ok")}
			write(t, s, want[1:]...)
			log.await(t, "the tables of ElasticJob refuse runs, which are in the history alone\" runs=1")
			write(t, s, want[0])
			if diff := cmp.Diff(want, all(t, s.Reader, sqltrace.Filter{})); diff != "" {
				t.Error(diff)
			}
			db, err := loc.DB()
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for table, rows := range map[string]int{"JOB_EXECUTION_LOG": 3, "JOB_STATUS_TRACE_LOG": 9} {
				var n int
				if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil || n != rows {
					t.Errorf("%s has %d rows, %v; want %d", table, n, err, rows)
				}
			}
			execute(t, loc, "DROP TABLE JOB_EXECUTION_LOG")
			write(t, s, failed(50_000, "ok"))
			log.await(t, "refuse runs")
		})
	}
}

// What may pass, such as a full disk below ElasticJob's tables, loses no run there.
func TestTablesOfElasticJobThatCannotBeWrittenNow(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]struct {
		server      func(testing.TB) *sqltest.Server
		full, again []string
	}{
		"PostgreSQL": {sqltest.Postgres, []string{
			"CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN RAISE 'no room' USING ERRCODE = '53100'; END $$ LANGUAGE plpgsql",
			"CREATE TRIGGER full_disk BEFORE INSERT ON JOB_EXECUTION_LOG FOR EACH ROW EXECUTE FUNCTION full_disk()",
		}, []string{"DROP TRIGGER full_disk ON JOB_EXECUTION_LOG"}},
		"MariaDB": {sqltest.MariaDB, []string{
			"CREATE TRIGGER full_disk BEFORE INSERT ON JOB_EXECUTION_LOG FOR EACH ROW SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'no room'",
		}, []string{"DROP TRIGGER full_disk"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loc := address(t, kind.server(t).Database(t))
			loc.ElasticJob = true
			s := open(t, loc)
			execute(t, loc, kind.full...)
			row := run("j", 0, 10_000)
			if err := s.Write(t.Context(), []trace.Row{row}); err == nil || !strings.Contains(err.Error(), "no room") {
				t.Errorf("written: %v", err)
			}
			execute(t, loc, kind.again...)
			write(t, s, row)
			db, err := loc.DB()
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var n int
			if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM JOB_EXECUTION_LOG").Scan(&n); err != nil || n != 1 {
				t.Errorf("it has %d rows, %v", n, err)
			}
		})
	}
}

// Without the option the tables are not created.
func TestTablesOfElasticJobAreNotMadeUnasked(t *testing.T) {
	everywhere(t, func(t *testing.T, loc sqltrace.Location) {
		write(t, open(t, loc), run("a", 0, 10))
		db, err := loc.DB()
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(t.Context(), "SELECT COUNT(*) FROM JOB_EXECUTION_LOG"); err == nil {
			t.Error("they are there")
		}
	})
}

func sorted(lines []string) []string { return slices.Sorted(slices.Values(lines)) }
