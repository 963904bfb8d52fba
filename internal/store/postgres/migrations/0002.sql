-- Named things that lie beside the log: see ledger.Item.
CREATE TABLE item (
	kind  text COLLATE "C" NOT NULL,
	id    text COLLATE "C" NOT NULL,
	log   bigint NOT NULL, -- log and index of the record that wrote it last
	index bigint NOT NULL,
	open  boolean NOT NULL,
	due   bigint NOT NULL, -- Unix nanoseconds; 0 for never
	data  bytea NOT NULL,
	PRIMARY KEY (kind, id)
);
CREATE INDEX item_due ON item (kind, due) WHERE due > 0;
CREATE INDEX item_open ON item (kind, id) WHERE open;
