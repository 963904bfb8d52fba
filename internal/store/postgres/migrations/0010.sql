-- How far those have come who follow a log, such as what sends it elsewhere: by their
-- names, in their own words.
CREATE TABLE reached (
	log      bigint NOT NULL,
	follower text NOT NULL,
	data     bytea NOT NULL,
	PRIMARY KEY (log, follower)
) WITH (fillfactor = 30);
