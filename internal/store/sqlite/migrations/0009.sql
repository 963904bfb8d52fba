-- How far those have come who follow the log, such as what sends it elsewhere: by their
-- names, in their own words.
CREATE TABLE reached (
	follower TEXT PRIMARY KEY,
	data     BLOB NOT NULL
) WITHOUT ROWID;
