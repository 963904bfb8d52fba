-- What every node has to know at once is told by the database itself: so it does not
-- matter who changed it, by which version of the program, or by hand.
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify(TG_TABLE_SCHEMA || '.reeve_change', TG_ARGV[0]);
	RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON api_key FOR EACH STATEMENT EXECUTE FUNCTION tell('keys');
-- Agents that are barred are the open ones.
CREATE TRIGGER tell_new AFTER INSERT ON item FOR EACH ROW WHEN (NEW.kind = 'agent' AND NEW.open) EXECUTE FUNCTION tell('agents');
CREATE TRIGGER tell AFTER UPDATE ON item FOR EACH ROW WHEN (NEW.kind = 'agent' AND (NEW.open OR OLD.open)) EXECUTE FUNCTION tell('agents');

CREATE FUNCTION tell_approval() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify(TG_TABLE_SCHEMA || '.reeve_change', 'approval ' || left(NEW.id, 200));
	RETURN NULL;
END $$;
CREATE TRIGGER tell_approval AFTER UPDATE ON item FOR EACH ROW WHEN (NEW.kind = 'approval') EXECUTE FUNCTION tell_approval();
