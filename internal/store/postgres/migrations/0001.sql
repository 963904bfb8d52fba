-- What the columns hold is described in docs/ledger-format.md. Times are Unix
-- nanoseconds. Columns that hold whole batches are not compressed: what is in
-- them does not shrink, and trying costs more than all else.

CREATE TABLE log (
	log               bigint PRIMARY KEY,
	size              bigint NOT NULL DEFAULT 0,
	checkpoint        bytea,
	epoch             bigint NOT NULL DEFAULT 0,
	owner             text, -- NULL once released
	heartbeat         timestamptz NOT NULL DEFAULT now(),
	pruned            bigint NOT NULL DEFAULT 0,
	pruned_checkpoint bytea,
	opening_bytes     bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);

CREATE TABLE batch (
	log     bigint NOT NULL,
	first   bigint NOT NULL,
	count   bigint NOT NULL,
	at      bigint NOT NULL,
	leaves  bytea NOT NULL,
	claims  bytea,
	records bytea NOT NULL,
	PRIMARY KEY (log, first)
);
ALTER TABLE batch ALTER leaves SET STORAGE EXTERNAL, ALTER claims SET STORAGE EXTERNAL, ALTER records SET STORAGE EXTERNAL;

CREATE TABLE node (
	log   bigint NOT NULL,
	level integer NOT NULL,
	n     bigint NOT NULL,
	hash  bytea NOT NULL,
	PRIMARY KEY (log, level, n)
);

CREATE TABLE opening (
	log   bigint NOT NULL,
	first bigint NOT NULL,
	count bigint NOT NULL,
	at    bigint NOT NULL,
	size  bigint NOT NULL,
	data  bytea NOT NULL,
	PRIMARY KEY (log, first)
);
ALTER TABLE opening ALTER data SET STORAGE EXTERNAL;
CREATE INDEX opening_at ON opening (at, log, first);

CREATE TABLE part (
	hash     bytea PRIMARY KEY,
	last_put bigint NOT NULL,
	size     bigint NOT NULL,
	data     bytea NOT NULL
);
CREATE INDEX part_last_put ON part (last_put, size);

-- Where each session was last written.
CREATE TABLE session_head (
	key   uuid PRIMARY KEY,
	log   bigint NOT NULL,
	index bigint NOT NULL
) WITH (fillfactor = 80);

CREATE TABLE policy (
	hash text PRIMARY KEY,
	at   bigint NOT NULL,
	text bytea NOT NULL
);

CREATE TABLE api_key (
	name         text PRIMARY KEY,
	hash         bytea NOT NULL,
	role         text NOT NULL,
	organization text NOT NULL,
	created      bigint NOT NULL,
	revoked      bigint NOT NULL -- 0 while valid
);

CREATE TABLE anchor (
	id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	log        bigint NOT NULL,
	size       bigint NOT NULL,
	place      text NOT NULL,
	at         bigint NOT NULL,
	checkpoint bytea NOT NULL
);

CREATE TABLE probe (
	id integer PRIMARY KEY,
	at timestamptz NOT NULL
);
INSERT INTO probe VALUES (0, now());
