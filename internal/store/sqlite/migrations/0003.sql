-- Tasks: see package task. Times are Unix nanoseconds, 0 for none; ids are UUIDs
-- of 16 bytes. What changes while a task runs is apart from what does not, so
-- that a change writes few bytes.
CREATE TABLE task (
	id         BLOB NOT NULL PRIMARY KEY,
	root       BLOB NOT NULL,
	parent     BLOB,             -- of a root: NULL
	owner      TEXT NOT NULL,
	name       TEXT NOT NULL,
	executor   TEXT NOT NULL,
	phase      INTEGER NOT NULL, -- task.Phase
	status     INTEGER NOT NULL, -- 0 pending, 1 in progress, 2 completed, 3 failed, 4 cancelled
	priority   INTEGER NOT NULL,
	size       INTEGER NOT NULL,
	open       INTEGER NOT NULL,
	events     INTEGER NOT NULL,
	unmet      INTEGER NOT NULL,
	attempt    INTEGER NOT NULL,
	failures   INTEGER NOT NULL,
	losses     INTEGER NOT NULL,
	run        INTEGER NOT NULL,
	node       TEXT NOT NULL,
	due        INTEGER NOT NULL,
	held       TEXT NOT NULL,
	cascade    INTEGER NOT NULL,
	progress   REAL NOT NULL,
	error      TEXT NOT NULL,
	created    INTEGER NOT NULL,
	updated    INTEGER NOT NULL,
	started    INTEGER NOT NULL,
	completed  INTEGER NOT NULL,
	next       INTEGER NOT NULL,
	last_run   INTEGER NOT NULL,
	runs       INTEGER NOT NULL,
	refs       INTEGER NOT NULL,
	decision   TEXT NOT NULL,
	outcome    TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX task_list ON task (created, id);
CREATE INDEX task_owner ON task (owner, created, id);
CREATE INDEX task_status ON task (status, created, id);
CREATE INDEX task_tree ON task (root, id) WHERE parent IS NOT NULL;
CREATE INDEX task_parent ON task (parent) WHERE parent IS NOT NULL;
CREATE INDEX task_ready ON task (executor, priority, created, id) WHERE phase = 3;
CREATE INDEX task_live ON task (phase, due) WHERE phase IN (2, 4, 5);
CREATE INDEX task_next ON task (next) WHERE next > 0;

CREATE TABLE task_text (
	id         BLOB NOT NULL PRIMARY KEY,
	definition BLOB NOT NULL, -- task.Definition
	result     BLOB,
	judged     BLOB
) WITHOUT ROWID;

CREATE TABLE task_need (
	needs    BLOB NOT NULL,
	task     BLOB NOT NULL, -- waits for it
	required INTEGER NOT NULL,
	PRIMARY KEY (needs, task)
) WITHOUT ROWID;
CREATE INDEX task_need_task ON task_need (task);

CREATE TABLE task_event (
	root     BLOB NOT NULL,
	n        INTEGER NOT NULL,
	task     BLOB NOT NULL,
	type     INTEGER NOT NULL, -- task.EventType
	at       INTEGER NOT NULL,
	status   INTEGER NOT NULL,
	progress REAL NOT NULL,
	message  TEXT NOT NULL,
	PRIMARY KEY (root, n)
) WITHOUT ROWID;

CREATE TABLE task_push (
	id   BLOB NOT NULL PRIMARY KEY,
	root BLOB NOT NULL,
	data BLOB NOT NULL, -- task.Push.Data
	due  INTEGER NOT NULL,
	done INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX task_push_due ON task_push (due) WHERE done = 0;
CREATE INDEX task_push_root ON task_push (root);
