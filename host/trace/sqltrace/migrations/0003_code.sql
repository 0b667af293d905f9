-- What the entry of a run returned; NULL where it did not return.
ALTER TABLE wasmjobd_run ADD COLUMN code INTEGER;
