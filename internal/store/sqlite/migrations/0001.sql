-- What the columns hold is described in docs/ledger-format.md. This database
-- holds one log, number 0. Times are Unix nanoseconds, numbers little-endian.

CREATE TABLE head (
	id                INTEGER PRIMARY KEY CHECK (id = 0),
	size              INTEGER NOT NULL,
	checkpoint        BLOB,
	epoch             INTEGER NOT NULL,
	owner             TEXT NOT NULL,
	pruned            INTEGER NOT NULL,
	pruned_checkpoint BLOB,
	opening_bytes     INTEGER NOT NULL,
	heads_upto        INTEGER NOT NULL, -- the claims of the records below are in head_run
	probed            INTEGER NOT NULL
);

-- The small columns come first: to read a column of a long row, SQLite walks
-- through all pages before it.
CREATE TABLE batch (
	first   INTEGER PRIMARY KEY,
	count   INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	leaves  BLOB NOT NULL,
	claims  BLOB,
	records BLOB NOT NULL
);

CREATE TABLE node (
	level INTEGER NOT NULL,
	n     INTEGER NOT NULL,
	hash  BLOB NOT NULL,
	PRIMARY KEY (level, n)
) WITHOUT ROWID;

CREATE TABLE opening (
	first INTEGER PRIMARY KEY,
	count INTEGER NOT NULL,
	at    INTEGER NOT NULL,
	size  INTEGER NOT NULL,
	data  BLOB NOT NULL
);

CREATE TABLE part (
	id       INTEGER PRIMARY KEY,
	hash     BLOB NOT NULL UNIQUE,
	last_put INTEGER NOT NULL,
	size     INTEGER NOT NULL,
	data     BLOB NOT NULL
);
CREATE INDEX part_last_put ON part (last_put, size);

-- Where each session was last written, in runs sorted by key. See heads.go.
CREATE TABLE head_run (
	level INTEGER PRIMARY KEY,
	run   INTEGER NOT NULL,
	count INTEGER NOT NULL,
	depth INTEGER NOT NULL
);
CREATE TABLE head_block (
	id   INTEGER PRIMARY KEY, -- run << 32 | the key's first bits
	data BLOB NOT NULL
);
CREATE TABLE head_filter (
	part INTEGER PRIMARY KEY,
	data BLOB NOT NULL
);

CREATE TABLE policy (
	hash TEXT PRIMARY KEY,
	at   INTEGER NOT NULL,
	text BLOB NOT NULL
);

CREATE TABLE api_key (
	name         TEXT PRIMARY KEY,
	hash         BLOB NOT NULL,
	role         TEXT NOT NULL,
	organization TEXT NOT NULL,
	created      INTEGER NOT NULL,
	revoked      INTEGER NOT NULL -- 0 while valid
);

CREATE TABLE anchor (
	id         INTEGER PRIMARY KEY,
	size       INTEGER NOT NULL,
	place      TEXT NOT NULL,
	at         INTEGER NOT NULL,
	checkpoint BLOB NOT NULL
);

INSERT INTO head VALUES (0, 0, NULL, 0, '', 0, NULL, 0, 0, 0);
