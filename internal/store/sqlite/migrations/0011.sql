-- What proves that a node wrote the row: see ledger.Sealer. Empty where one of an earlier
-- version did.
ALTER TABLE item ADD COLUMN seal BLOB NOT NULL DEFAULT x'';
ALTER TABLE api_key ADD COLUMN seal BLOB NOT NULL DEFAULT x'';
