#!/bin/sh
# Installs the two peers, each into a venv of its own, under $1 (default ./.peers). Several GB.
set -eu
peers="${1:-.peers}"
python="${PYTHON:-python3}"
for peer in "guidellm==0.8.1" "aiperf==0.13.0"; do
    venv="$peers/${peer%%==*}"
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --upgrade pip
    # guidellm needs torch only to be there; the CPU build is a tenth of the size.
    "$venv/bin/python" -m pip install --quiet --extra-index-url https://download.pytorch.org/whl/cpu "$peer"
done
