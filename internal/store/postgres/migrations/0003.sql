-- Tasks: see package task. Times are Unix nanoseconds, 0 for none. Texts are in
-- the form that function text writes. What changes while a task runs is apart
-- from what does not, so that a change writes few bytes.
CREATE TABLE task (
	id        uuid PRIMARY KEY,
	root      uuid NOT NULL,
	parent    uuid, -- of a root: NULL
	owner     text COLLATE "C" NOT NULL,
	name      text COLLATE "C" NOT NULL,
	executor  text COLLATE "C" NOT NULL,
	phase     smallint NOT NULL, -- task.Phase
	status    smallint NOT NULL, -- 0 pending, 1 in progress, 2 completed, 3 failed, 4 cancelled
	priority  smallint NOT NULL,
	size      bigint NOT NULL,
	open      bigint NOT NULL,
	events    bigint NOT NULL,
	unmet     bigint NOT NULL,
	attempt   bigint NOT NULL,
	failures  bigint NOT NULL,
	losses    bigint NOT NULL,
	run       bigint NOT NULL,
	node      text COLLATE "C" NOT NULL,
	due       bigint NOT NULL,
	held      text COLLATE "C" NOT NULL,
	cascade   boolean NOT NULL,
	progress  double precision NOT NULL,
	error     text COLLATE "C" NOT NULL,
	created   bigint NOT NULL,
	updated   bigint NOT NULL,
	started   bigint NOT NULL,
	completed bigint NOT NULL,
	next      bigint NOT NULL,
	last_run  bigint NOT NULL,
	runs      bigint NOT NULL,
	refs      boolean NOT NULL,
	decision  text COLLATE "C" NOT NULL,
	outcome   text COLLATE "C" NOT NULL
) WITH (fillfactor = 70); -- a change of a root's counts stays within its page

-- An index holds at most 2,704 bytes a row: of texts that clients choose it has the beginning.
CREATE INDEX task_list ON task (created, id);
CREATE INDEX task_owner ON task (left(owner, 200), created, id);
CREATE INDEX task_status ON task (status, created, id);
CREATE INDEX task_tree ON task (root, id) WHERE parent IS NOT NULL;
CREATE INDEX task_parent ON task (parent) WHERE parent IS NOT NULL;
CREATE INDEX task_ready ON task (left(executor, 200), priority, created, id) WHERE phase = 3;
CREATE INDEX task_live ON task (phase, due) WHERE phase IN (2, 4, 5);
CREATE INDEX task_next ON task (next) WHERE next > 0;

CREATE TABLE task_text (
	id         uuid PRIMARY KEY,
	definition bytea NOT NULL, -- task.Definition
	result     bytea,
	judged     bytea
);

CREATE TABLE task_need (
	needs    uuid NOT NULL,
	task     uuid NOT NULL, -- waits for it
	required boolean NOT NULL,
	PRIMARY KEY (needs, task)
);

CREATE TABLE task_event (
	root     uuid NOT NULL,
	n        bigint NOT NULL,
	task     uuid NOT NULL,
	type     smallint NOT NULL, -- task.EventType
	at       bigint NOT NULL,
	status   smallint NOT NULL,
	progress double precision NOT NULL,
	message  text COLLATE "C" NOT NULL,
	PRIMARY KEY (root, n)
);

CREATE TABLE task_push (
	id   uuid PRIMARY KEY,
	root uuid NOT NULL,
	data bytea NOT NULL, -- task.Push.Data
	due  bigint NOT NULL,
	done boolean NOT NULL
);
CREATE INDEX task_push_due ON task_push (due) WHERE NOT done;
CREATE INDEX task_push_root ON task_push (root);
