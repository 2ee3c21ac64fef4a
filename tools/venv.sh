#!/usr/bin/env bash
# Brings .venv up to a hashed lock: tools/venv.sh demo|test|oldest. Does nothing where it already is.
# Uses uv where it is installed, else the venv module and pip. PYTHON names the interpreter to use.
set -euo pipefail
cd "$(dirname "$0")/.."
set_name=${1:?demo, test or oldest}
lock="requirements/$set_name.txt"
venv=${VENV:-.venv}

fail() { printf 'earwitness: %s\n' "$1" >&2; exit 2; }

fits() { command -v "$1" >/dev/null 2>&1 && "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; }

stamp="$venv/.locked-$set_name"
wanted=$(cat "$lock" pyproject.toml | sha256sum | cut -d' ' -f1)
if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then exit 0; fi
# The test set contains the demo's: an up-to-date test environment serves the demo as it is.
if [ "$set_name" = demo ] && [ -x "$venv/bin/python" ] && [ -f "$venv/.locked-test" ] &&
    [ "$(cat "$venv/.locked-test")" = "$(cat requirements/test.txt pyproject.toml | sha256sum | cut -d' ' -f1)" ]; then exit 0; fi

if [ ! -x "$venv/bin/python" ]; then
    python=""
    for candidate in ${PYTHON:-python3 python3.11 python3.12 python3.13}; do
        if fits "$candidate"; then python=$candidate; break; fi
    done
    if command -v uv >/dev/null 2>&1; then
        uv venv --quiet --python "${python:-3.11}" "$venv" || fail "uv could not make $venv with Python 3.11 to 3.13."
    else
        [ -n "$python" ] || fail "needs Python 3.11, 3.12 or 3.13 on the PATH (or PYTHON=/path/to/python make ...)."
        # What a failed attempt leaves has a python and no pip, and would be taken for an environment the next time.
        "$python" -m venv "$venv" || { rm -rf "$venv"; fail "$python has no working venv module. On Debian or Ubuntu: apt install python3-venv"; }
    fi
fi

echo "installing the locked environment ($set_name) into $venv: once, 0.6 to 1 GB, one to three minutes ..."
if command -v uv >/dev/null 2>&1; then
    uv pip install --quiet --python "$venv/bin/python" --require-hashes -r "$lock"
    uv pip install --quiet --python "$venv/bin/python" --no-deps --no-build-isolation -e .
else
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
fi
rm -f "$venv"/.locked-*
echo "$wanted" > "$stamp"
