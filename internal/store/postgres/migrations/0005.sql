-- Whose an item is, by which a principal's quota is counted.
ALTER TABLE item ADD COLUMN owner text COLLATE "C" NOT NULL DEFAULT '';
UPDATE item SET owner = coalesce(substring(encode(data, 'escape') FROM '"principal":"([^"\\]*)"'), '')
	WHERE kind IN ('approval', 'agent', 'mcp.tool');
CREATE INDEX item_owner ON item (owner, kind) WHERE owner <> '';
