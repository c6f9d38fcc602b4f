#!/bin/sh
# Installs the two peers, each into a venv of its own, under $1 (default ~/.cache/weighmaster/peers). About 3 GB.
set -eu
peers="${1:-${WEIGHMASTER_PEERS:-$HOME/.cache/weighmaster/peers}}"
python="${PYTHON:-python3}"
for peer in "guidellm==0.8.1" "aiperf==0.13.0"; do
    venv="$peers/${peer%%==*}"
    [ -e "$venv/.installed" ] && continue
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --upgrade pip
    # Only guidellm needs torch, and only to be there. Taken first and by itself, so that pip settles on this one.
    case "$peer" in guidellm*) "$venv/bin/python" -m pip install --quiet "torch==2.13.0" ;; esac
    "$venv/bin/python" -m pip install --quiet "$peer"
    touch "$venv/.installed"
done
