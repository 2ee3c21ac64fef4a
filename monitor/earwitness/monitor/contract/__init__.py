"""What travels on the log: events from a bot, records from the service side, and their bytes."""
