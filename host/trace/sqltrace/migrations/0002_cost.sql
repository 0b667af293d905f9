-- What a run cost and counted. metrics is a JSON object, NULL where there is
-- none: not every database takes a default for a text.
ALTER TABLE wasmjobd_run ADD COLUMN fuel BIGINT NOT NULL DEFAULT 0;
ALTER TABLE wasmjobd_run ADD COLUMN succeeded BIGINT NOT NULL DEFAULT 0;
ALTER TABLE wasmjobd_run ADD COLUMN failed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE wasmjobd_run ADD COLUMN metrics TEXT;
