# make help lists what there is. Everything is installed into .venv; nothing outside the checkout is touched,
# except that kafka-up may install a Java runtime and Maven with apt where it runs as root.
.DEFAULT_GOAL := help
.PHONY: help demo test check bench chaos soak kafka-up kafka-down kafka-cluster kafka-cluster-down
PY := .venv/bin/python
RUN := PATH="$(CURDIR)/.venv/bin:$$PATH"

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

demo: ## real calls through real Pipecat, watched live; ends by itself within 3 minutes
	@tools/venv.sh demo
	@$(PY) examples/demo/run.py

test: ## installs all that the tests need, a real Kafka included, and runs them
	@tools/venv.sh test
	@tools/test.sh

check: ## formatting, lint, types, layers, generated files
	@tools/venv.sh test
	@$(RUN) ruff format --check .
	@$(RUN) ruff check .
	@$(RUN) mypy
	@$(RUN) pyright --warnings --pythonversion $$($(PY) -c 'import sys; print(*sys.version_info[:2], sep=".")')
	@$(RUN) lint-imports
	@$(PY) -m earwitness.monitor.contract.schema --check
	@LOGURU_LEVEL=WARNING $(PY) tools/reference.py --check

bench: ## figures and ratios against baselines of the same run; no pass or fail
	@tools/venv.sh test
	@$(RUN) tools/bench.sh

chaos: ## faults, kills and crashes at length, with real brokers; ends by itself within an hour
	@tools/venv.sh test
	@$(RUN) tools/chaos.sh

soak: ## half an hour at 1,000 events/s through a real log and monitor; SOAK_S=60 shortens it, SOAK_LOG=embedded
	@tools/venv.sh test
	@$(RUN) python tests/soak/soak.py

kafka-up: ## a real Kafka on loopback; prints its address
	@python3 tools/kafka.py up

kafka-down: ## ends what kafka-up started
	@python3 tools/kafka.py down

kafka-cluster: ## three real Kafka brokers on loopback; prints their addresses
	@python3 tools/kafka_cluster.py up

kafka-cluster-down: ## ends what kafka-cluster started
	@python3 tools/kafka_cluster.py down
