-- One row for each attempt of each run of each item, and for each gap.
-- Times are Unix milliseconds, 0 is unknown. Only types that SQLite,
-- PostgreSQL and MySQL spell alike, or that the dialect replaces.
CREATE TABLE wasmjobd_run (
  job {name} NOT NULL,
  item INTEGER NOT NULL,
  run {name} NOT NULL,
  attempt INTEGER NOT NULL,
  instant_ms BIGINT NOT NULL,
  last_ms BIGINT NOT NULL,
  instants BIGINT NOT NULL,
  cause VARCHAR(16) NOT NULL,
  state VARCHAR(16) NOT NULL,
  reason TEXT NOT NULL,
  instance TEXT NOT NULL,
  task_id TEXT NOT NULL,
  start_ms BIGINT NOT NULL,
  end_ms BIGINT NOT NULL,
  result {bytes} NOT NULL,
  error TEXT NOT NULL,
  digest TEXT NOT NULL,
  fence BIGINT NOT NULL,
  PRIMARY KEY (job, item, run, attempt)
){options};

-- The whole order is in each index, so that a page is found without sorting.
CREATE INDEX wasmjobd_run_job ON wasmjobd_run (job, instant_ms, item, run, attempt);
CREATE INDEX wasmjobd_run_instant ON wasmjobd_run (instant_ms, job, item, run, attempt);
CREATE INDEX wasmjobd_run_state ON wasmjobd_run (state, instant_ms, job, item, run, attempt);
CREATE INDEX wasmjobd_run_end ON wasmjobd_run (end_ms);
