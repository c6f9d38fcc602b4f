#!/bin/sh
# Makes a venv in the cache folder from which `transformers serve` runs: what the project has installed, and what serving
# needs besides. Usage: install_transformers_serve.sh PYTHON (that of the project)
set -eu
home="${WEIGHMASTER_HOME:-$HOME/.cache/weighmaster}/transformers-serve"
[ -x "$home/bin/python" ] || "$1" -m venv "$home"
"$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$("$home/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/project.pth"
"$home/bin/pip" install -q fastapi==0.165.0 openai==3.57.0
"$home/bin/pip" install -q --no-deps accelerate psutil
