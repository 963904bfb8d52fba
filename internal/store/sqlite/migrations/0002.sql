-- Named things that lie beside the log: see ledger.Item.
CREATE TABLE item (
	kind    TEXT NOT NULL,
	id      TEXT NOT NULL,
	version INTEGER NOT NULL, -- the index of the record that wrote it last
	open    INTEGER NOT NULL,
	due     INTEGER NOT NULL, -- Unix nanoseconds; 0 for never
	data    BLOB NOT NULL,
	PRIMARY KEY (kind, id)
) WITHOUT ROWID;
CREATE INDEX item_due ON item (kind, due) WHERE due > 0;
CREATE INDEX item_open ON item (kind, id) WHERE open = 1;
