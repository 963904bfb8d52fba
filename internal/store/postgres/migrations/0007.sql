-- What each node says of itself, as JSON: see package nodes. A row is of the holder of the
-- log that the epoch names.
CREATE TABLE member (
	log    bigint PRIMARY KEY,
	epoch  bigint NOT NULL,
	policy text NOT NULL,
	data   text NOT NULL
) WITH (fillfactor = 30);
CREATE TRIGGER tell AFTER UPDATE ON member FOR EACH ROW WHEN (NEW.policy <> OLD.policy OR NEW.epoch <> OLD.epoch) EXECUTE FUNCTION tell('nodes');
CREATE TRIGGER tell_new AFTER INSERT ON member FOR EACH ROW EXECUTE FUNCTION tell('nodes');
