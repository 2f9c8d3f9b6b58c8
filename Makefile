# SPDX-License-Identifier: Apache-2.0
# Every target sets up what it needs below build/; a second call starts at once.

PYTHON ?= python3
export OPENBLAS_NUM_THREADS ?= 1
VENV   := build/venv
PY     := $(VENV)/bin/python
READY  := build/.ready

.PHONY: demo test test-all lint formal synth pnr mutate fuzz bench bitstream simulate package docs wheel clean setup
.DEFAULT_GOAL := test

setup: $(READY)

$(READY): requirements.txt pyproject.toml ci/setup
	PYTHON=$(PYTHON) ci/setup
	touch $@

demo: $(READY)
	$(PY) -m gradcore train examples/digits/net.toml --no-calibrate --data digits --out build/demo --force --json build/demo/report.json --check epoch

test: $(READY)
	$(PY) -m pytest tb -n 2 --dist worksteal -q -m "not long"

test-all: $(READY)
	$(PY) -m pytest tb -n 2 --dist worksteal -q

lint: $(READY)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) ci/lint

formal: $(READY)
	$(PY) ci/formal

synth: $(READY)
	$(PY) ci/synth --check

pnr: $(READY)
	$(PY) ci/pnr

# BOARD=ulx3s. The first makes its bitstream, the second is the board without the board.
bitstream: $(READY)
	$(PY) ci/bitstream $(BOARD)

simulate: $(READY)
	@$(PY) boards/$(BOARD)/simulate

mutate: $(READY)
	$(PY) ci/mutate

fuzz: $(READY)
	$(PY) ci/fuzz

bench: $(READY)
	$(PY) -m gradcore bench digits

package: $(READY)
	$(PY) ci/package

# The documents as a site: build/docs/index.html.
docs: $(READY)
	$(PY) -m sphinx -W --keep-going -q -c doc/site . build/docs

# build/lib would keep files that are no longer there.
wheel: $(READY)
	rm -rf build/lib dist
	$(PY) -m pip wheel --no-deps --no-build-isolation --quiet --wheel-dir dist .

clean:
	rm -rf build dist
