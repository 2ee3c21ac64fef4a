"""The log: one protocol, an embedded implementation on SQLite and one on Kafka."""
