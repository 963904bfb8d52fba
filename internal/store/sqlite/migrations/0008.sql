-- Who asked and what it belongs to lies apart from the contents, which go sooner: the
-- columns are those of opening.
CREATE TABLE fact (
	first INTEGER PRIMARY KEY,
	count INTEGER NOT NULL,
	at    INTEGER NOT NULL,
	size  INTEGER NOT NULL,
	data  BLOB NOT NULL
);

-- What finds records by their facts: segments of the log, each a sorted list of terms
-- with the records that have them, cut into pages. See package ledger, index.go.
CREATE TABLE segment (
	level INTEGER NOT NULL,
	n     INTEGER NOT NULL,
	PRIMARY KEY (level, n)
) WITHOUT ROWID;
CREATE TABLE segment_page (
	id    INTEGER PRIMARY KEY,
	level INTEGER NOT NULL,
	n     INTEGER NOT NULL,
	term  INTEGER NOT NULL, -- the first of the page, and the first record that has it
	first INTEGER NOT NULL,
	data  BLOB NOT NULL
);
CREATE UNIQUE INDEX segment_page_place ON segment_page (level, n, term, first);
-- How often segments were dropped: one that was made of facts that are gone by now is not
-- written.
CREATE TABLE segments_dropped (n INTEGER NOT NULL);
INSERT INTO segments_dropped VALUES (0);
