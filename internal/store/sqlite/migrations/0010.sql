-- Who holds a key, where one person has several credentials.
ALTER TABLE api_key ADD COLUMN person TEXT NOT NULL DEFAULT '';
