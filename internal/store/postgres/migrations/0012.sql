-- What proves that a node wrote the row: see ledger.Sealer. Empty where one of an earlier
-- version did: what it changes loses the seal that it had.
ALTER TABLE item ADD COLUMN seal bytea NOT NULL DEFAULT '';
ALTER TABLE api_key ADD COLUMN seal bytea NOT NULL DEFAULT '';
CREATE FUNCTION unseal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.seal := '';
	RETURN NEW;
END $$;
CREATE TRIGGER unseal BEFORE UPDATE ON item FOR EACH ROW WHEN (NEW.seal <> '' AND NEW.seal = OLD.seal AND NEW IS DISTINCT FROM OLD) EXECUTE FUNCTION unseal();
CREATE TRIGGER unseal BEFORE UPDATE ON api_key FOR EACH ROW WHEN (NEW.seal <> '' AND NEW.seal = OLD.seal AND NEW IS DISTINCT FROM OLD) EXECUTE FUNCTION unseal();
