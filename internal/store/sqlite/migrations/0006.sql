-- Items lie in the order in which they came. Their ids are hashes, and where they lay by
-- these each wrote a page of its own; by id they are found in an index, whose
-- entries are short.
DROP INDEX item_due;
DROP INDEX item_open;
DROP INDEX item_over;
DROP INDEX item_owner;
ALTER TABLE item RENAME TO item_by_id;
CREATE TABLE item (
	kind    TEXT NOT NULL,
	id      TEXT NOT NULL,
	version INTEGER NOT NULL, -- the index of the record that wrote it last
	open    INTEGER NOT NULL,
	due     INTEGER NOT NULL, -- Unix nanoseconds; 0 for never
	data    BLOB NOT NULL,
	owner   TEXT NOT NULL DEFAULT ''
);
INSERT INTO item SELECT kind, id, version, open, due, data, owner FROM item_by_id ORDER BY version, kind, id;
DROP TABLE item_by_id;
CREATE UNIQUE INDEX item_id ON item (kind, id);
CREATE INDEX item_due ON item (kind, due) WHERE due > 0;
CREATE INDEX item_open ON item (kind, id) WHERE open = 1;
CREATE INDEX item_over ON item (due) WHERE due > 0 AND open = 0;
CREATE INDEX item_owner ON item (owner, kind) WHERE owner <> '';
