#!/usr/bin/env bash
# Rewrites the hashed locks. Needs uv. Run after a change to pyproject.toml or to a *.in file.
set -euo pipefail
cd "$(dirname "$0")/.."
lock() {
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
        "${@:2}" pyproject.toml "requirements/$1.in" -o "requirements/$1.txt"
}
lock demo --extra monitor
lock test --extra monitor --extra pictures
lock oldest
# Nothing may need a compiler, on any Python: a fresh machine has none. docopt (Pipecat's) is pure Python without a wheel.
for python in 3.11 3.12 3.13; do
    uv pip install --quiet --dry-run --target "$(mktemp -du)" --python-version "$python" --require-hashes \
        --only-binary :all: --no-binary docopt -r requirements/test.txt
done
