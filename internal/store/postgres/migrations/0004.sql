-- Children are found within their tree: one index is written for each change of a
-- task where two were.
DROP INDEX task_parent;
DROP INDEX task_tree;
CREATE INDEX task_tree ON task (root, parent) WHERE parent IS NOT NULL;

-- What was copied or linked from what: a tree that others were made from is kept as
-- long as they are.
CREATE TABLE task_ref (
	original uuid NOT NULL,
	task     uuid NOT NULL, -- was made from it
	PRIMARY KEY (original, task)
);
CREATE INDEX task_ref_task ON task_ref (task);

-- Trees that were removed, until that is recorded and nothing of them is left.
CREATE TABLE task_gone (
	root  uuid PRIMARY KEY,
	tasks bigint NOT NULL,
	why   text COLLATE "C" NOT NULL,
	noted boolean NOT NULL,
	swept boolean NOT NULL
);

-- The items that are over, which TrimItems removes.
CREATE INDEX item_over ON item (due) WHERE due > 0 AND NOT open;

-- The copies and links that there are. They name what they were made from as text.
INSERT INTO task_ref
	SELECT o.id, x.id FROM task_text x,
		regexp_matches(encode(x.definition, 'escape'), '"original":"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"', 'g') AS m
	JOIN task o ON o.id = m[1]::uuid
	ON CONFLICT DO NOTHING;
