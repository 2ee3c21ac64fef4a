"""Plugins that every test may use."""

pytest_plugins = ["loud_skips", "kafka_broker", "pipecat_calls.fixtures"]
