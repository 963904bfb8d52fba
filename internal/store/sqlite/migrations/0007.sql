-- An item whose column open is damaged counts as open: an agent that is barred stays it.
DROP INDEX item_open;
CREATE INDEX item_open ON item (kind, id) WHERE open <> 0;
