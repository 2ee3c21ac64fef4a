"""Plugins that every test may use."""

pytest_plugins = ["loud_skips", "logging_as_before", "kafka_broker", "secured_kafka", "pipecat_calls.fixtures"]
