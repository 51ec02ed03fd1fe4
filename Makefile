# Two commands matter: `make demo` and `make test`. Both make their own .venv from what this project declares.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := runs
# Installed code without bytecode stays slow to import for ever.
unexport PYTHONDONTWRITEBYTECODE
# Types are looked at beside the first tests: mypy uses one core.
MAKEFLAGS += --jobs=2

.PHONY: demo sprites test lint types unit quick nightly docs gallery perf simulations mutants clean

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "evenhand needs Python 3.11 or newer; type: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/demo.done: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/sprites.done: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[torch]'
	touch $@

$(VENV)/test.done: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all]' --group test --group check
	touch $@

# An example table and its page, then a small model asked by a benchmark: seconds each, nothing trained.
demo: $(VENV)/demo.done
	$(BIN)/evenhand demo -o $(RUNS)/example
	$(BIN)/evenhand run sprites --model examples/grey_model.py:Grey -o $(RUNS)/sprites-grey
	@echo
	@echo "Open $(RUNS)/example/tickets/report.html and $(RUNS)/sprites-grey/report.html in a browser."

# Models that it trains, one with a planted bias, in minutes.
sprites: $(VENV)/sprites.done
	$(BIN)/python examples/sprites_model.py --removed heart --strength strong -o $(RUNS)/models/planted.safetensors
	$(BIN)/python examples/sprites_model.py --removed none -o $(RUNS)/models/fair.safetensors
	$(BIN)/evenhand run sprites --model examples/sprites_model.py:planted -p removed=heart -o $(RUNS)/sprites-planted
	$(BIN)/evenhand run sprites --model examples/sprites_model.py:fair -o $(RUNS)/sprites-fair
	$(BIN)/evenhand artifact skewsize/table1 $(RUNS)/sprites-planted $(RUNS)/sprites-fair
	@echo
	@echo "Open $(RUNS)/sprites-planted/report.html and $(RUNS)/sprites-fair/report.html in a browser."

test: lint types unit

lint: $(VENV)/test.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test.done
	$(BIN)/mypy

unit: $(VENV)/test.done
	$(BIN)/python -m pytest -n 3

# Two minutes on two cores: numbers, evidence, properties, files and commands; no browser, Spark, Ray or demo.
QUICK := $(addprefix tests/,architecture core text display stats metrics evidence mitigate properties files cli)

quick: $(VENV)/test.done
	$(BIN)/python -m pytest -n 2 -m "not slow and not nightly" $(QUICK)

# What is dear and rarely breaks: pages of every run in a browser, crashes, nested runs, simulations.
nightly: $(VENV)/test.done
	$(BIN)/python -m pytest -n 3 -m nightly

$(VENV)/docs.done: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable . --group docs
	touch $@

docs: $(VENV)/docs.done
	$(BIN)/python docs/make_cards.py
	$(BIN)/zensical build --strict --clean
	@echo "Open site/index.html in a browser; with search: python -m http.server --directory site"

gallery: $(VENV)/test.done
	$(BIN)/python -m tests.gallery -o gallery

perf: $(VENV)/test.done
	$(BIN)/python -m pytest perf -s -p no:xdist

# Hours in all; the battery goes on where it was stopped.
simulations: $(VENV)/test.done
	$(BIN)/python -m simulations.battery --keep simulations/battery.jsonl
	$(BIN)/python -m simulations.battery.old_forms
	$(BIN)/python -m simulations.random_encoders

# Random mistakes in what computes, each tried on the tests that run it; goes on where it was stopped.
mutants: $(VENV)/test.done
	$(BIN)/python -m simulations.mutants --keep simulations/mutants.jsonl

clean:
	rm -rf $(VENV) $(RUNS) site .cache gallery .pytest_cache .mypy_cache .ruff_cache .benchmarks
