-- Who asked and what it belongs to lies apart from the contents, which go sooner: the
-- columns are those of opening. What older programs write has it there.
CREATE TABLE fact (
	log   bigint NOT NULL,
	first bigint NOT NULL,
	count bigint NOT NULL,
	at    bigint NOT NULL,
	size  bigint NOT NULL,
	data  bytea NOT NULL,
	PRIMARY KEY (log, first)
);
ALTER TABLE fact ALTER data SET STORAGE EXTERNAL;
CREATE INDEX fact_at ON fact (at, log, first);

-- What finds records by their facts: segments of a log, each a sorted list of terms with
-- the records that have them, cut into pages. See package ledger, index.go.
CREATE TABLE segment (
	log   bigint NOT NULL,
	level integer NOT NULL,
	n     bigint NOT NULL,
	PRIMARY KEY (log, level, n)
);
CREATE TABLE segment_page (
	log   bigint NOT NULL,
	level integer NOT NULL,
	n     bigint NOT NULL,
	term  bigint NOT NULL, -- the first of the page, and the first record that has it
	first bigint NOT NULL,
	data  bytea NOT NULL,
	PRIMARY KEY (log, level, n, term, first)
);
ALTER TABLE segment_page ALTER data SET STORAGE EXTERNAL;

-- How often segments of a log were dropped: one that was made of facts that are gone by now
-- is not written.
ALTER TABLE log ADD COLUMN segments_dropped bigint NOT NULL DEFAULT 0;
