-- Whose an item is, by which a principal's quota is counted.
ALTER TABLE item ADD COLUMN owner TEXT NOT NULL DEFAULT '';
UPDATE item SET owner = coalesce(json_extract(CAST(data AS TEXT), '$.principal'), '')
	WHERE kind IN ('approval', 'agent', 'mcp.tool') AND json_valid(CAST(data AS TEXT));
CREATE INDEX item_owner ON item (owner, kind) WHERE owner <> '';
