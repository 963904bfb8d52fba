-- What was copied or linked from what: a tree that others were made from is kept as
-- long as they are.
CREATE TABLE task_ref (
	original BLOB NOT NULL,
	task     BLOB NOT NULL, -- was made from it
	PRIMARY KEY (original, task)
) WITHOUT ROWID;
CREATE INDEX task_ref_task ON task_ref (task);

-- Trees that were removed, until that is recorded and nothing of them is left.
CREATE TABLE task_gone (
	root  BLOB NOT NULL PRIMARY KEY,
	tasks INTEGER NOT NULL,
	why   TEXT NOT NULL,
	noted INTEGER NOT NULL,
	swept INTEGER NOT NULL
) WITHOUT ROWID;

-- The items that are over, which TrimItems removes.
CREATE INDEX item_over ON item (due) WHERE due > 0 AND open = 0;

-- The copies and links that there are. They name what they were made from as text.
INSERT OR IGNORE INTO task_ref
	SELECT o.id, x.id FROM (
		SELECT id, json_extract(CAST(definition AS TEXT), '$.original') AS original FROM task_text
		WHERE json_valid(CAST(definition AS TEXT)) AND json_extract(CAST(definition AS TEXT), '$.original') IS NOT NULL) x
	JOIN task o ON o.id = unhex(x.original, '-');
