#!/usr/bin/env bash
# Rewrites the hashed locks. Needs uv. Run after a change to pyproject.toml or to a *.in file.
set -euo pipefail
cd "$(dirname "$0")/.."
for name in demo test; do
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
        --extra monitor pyproject.toml "requirements/$name.in" -o "requirements/$name.txt"
done
if [ -f requirements/oldest.in ]; then
    uv pip compile --quiet --python-version 3.11 --generate-hashes --no-header --no-annotate \
        pyproject.toml requirements/oldest.in -o requirements/oldest.txt
fi
# Nothing may need a compiler, on any Python: a fresh machine has none. docopt (Pipecat's) is pure Python without a wheel.
for python in 3.11 3.12 3.13; do
    uv pip install --quiet --dry-run --target "$(mktemp -du)" --python-version "$python" --require-hashes \
        --only-binary :all: --no-binary docopt -r requirements/test.txt
done
