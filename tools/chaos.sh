#!/usr/bin/env bash
# Every test marked chaos: faults at their full length, kills, three brokers. Ends by itself within an hour: what has not
# come to an end by then is stopped and said. EARWITNESS_TEST_SEED chooses other moments. Arguments go to pytest.
set -uo pipefail
cd "$(dirname "$0")/.."
within_s=3300
began=$SECONDS
started=0
if [ ! -e .run/kafka/bootstrap ]; then started=1; fi
if ! python3 tools/kafka.py up; then
    echo "earwitness: no Kafka here; what needs one is skipped (see the line above)" >&2
fi
finish() { if [ "$started" = 1 ]; then python3 tools/kafka.py down || true; fi; }
trap finish EXIT
timeout --signal=INT --kill-after=60 "$within_s" python -m pytest -m chaos -p no:cacheprovider -rA --durations=15 "$@"
status=$?
took=$((SECONDS - began))
if [ "$status" = 124 ]; then echo "earwitness: not done within $within_s s; the tests above that have no line did not run" >&2; fi
if [ "$status" = 5 ]; then echo "earwitness: no test is marked chaos here" >&2; fi
echo "chaos: $((took / 60)) min $((took % 60)) s, exit code $status"
exit "$status"
