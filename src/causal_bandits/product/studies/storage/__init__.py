"""Where studies are kept: SQLite by default, PostgreSQL by URL. Append-only events, and snapshots to load quickly."""
