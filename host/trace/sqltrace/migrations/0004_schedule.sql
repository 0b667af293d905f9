-- The cron expression from which a row's instants come; NULL where there is
-- none, or nobody said.
ALTER TABLE wasmjobd_run ADD COLUMN schedule TEXT;
