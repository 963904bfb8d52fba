-- What all nodes together may have of rates and quotas: see package quota. None of it
-- needs to survive a crash of the database, and nothing of it is worth a write to its log.
CREATE UNLOGGED TABLE bucket (
	name  text COLLATE "C" PRIMARY KEY,
	level double precision NOT NULL,
	took  double precision NOT NULL,
	at    timestamptz NOT NULL,
	until timestamptz NOT NULL -- from when on it says nothing any more
) WITH (fillfactor = 50);
CREATE UNLOGGED TABLE reserved (
	what  text COLLATE "C" NOT NULL,
	node  text COLLATE "C" NOT NULL,
	n     bigint NOT NULL,
	bytes bigint NOT NULL,
	until timestamptz NOT NULL,
	PRIMARY KEY (what, node)
) WITH (fillfactor = 50);
