#!/usr/bin/env bash
# The test suite. Parts that cannot be installed here are skipped, one loud line each and a count at the end;
# with CI=true a skip for anything but the outside data is a failure (tests/conftest.py).
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"
if VENV=.venv-oldest tools/venv.sh oldest; then
    export EARWITNESS_TEST_OLDEST_PYTHON="$PWD/.venv-oldest/bin/python"
else
    echo "earwitness: the oldest versions allowed cannot be installed here; their tests are skipped (see the lines above)" >&2
fi
started=0
if [ ! -e .run/kafka/bootstrap ]; then started=1; fi
if ! bootstrap=$(python3 tools/kafka.py up); then
    echo "earwitness: no Kafka here; its tests are skipped (see the line above)" >&2
fi
finish() { if [ "$started" = 1 ]; then python3 tools/kafka.py down || true; fi; }
trap finish EXIT
python -m pytest "$@"
