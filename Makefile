# make demo | make test | make docs | make bench: each sets itself up on a machine with nothing but make and python3 (3.11 or newer).

PYTHON ?= python3
VENV ?= .venv
# Test processes. More than the machine has cores only costs start-up time.
JOBS ?= 2
# What else pytest is told, such as `-m "not campaign"`.
PYTEST ?=

BIN := $(VENV)/bin
RUN := $(VENV)/.ready-to-run
DEV := $(VENV)/.ready-to-test

.PHONY: demo test docs bench check pytest clean

demo: $(RUN)
	@$(BIN)/pto-buf demo examples/two_level_pipeline.py examples/two_level_slots.py

test: check pytest

# The reference of tile ops. A test fails when it is not what the table says.
docs: $(DEV)
	PYTHONPATH=test $(BIN)/python test/support/op_reference.py

bench: $(RUN)
	@$(BIN)/pto-buf bench examples/two_level_slots.py examples/two_level_pipeline.py test/kernels/sources/softmax.py

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python

pytest: $(DEV)
	$(BIN)/pytest -q -n $(JOBS) $(PYTEST)

# The installation is editable: it is done again only when the dependencies may have changed.
$(RUN): $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(DEV): $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(RUN)

$(BIN)/python:
	@.ci/make-venv $(PYTHON) $(VENV)

clean:
	rm -rf $(VENV) build out .pytest_cache .ruff_cache .hypothesis
