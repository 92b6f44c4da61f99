# The two commands are `make run` and `make test`. Needs Python 3.11 and git; pip settings come
# from the environment (PIP_*), and PYTHON=... chooses another interpreter.

BIN := .venv/bin
TOPIC ?= main_path
# A benchmark is a module that can be started; a module that others only import is not.
BENCHMARKS = $(basename $(notdir $(shell grep -ls '__name__ == "__main__"' benchmarks/*.py)))

.PHONY: help run test cover accept soak bench lint format clean install constraints

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile

install: ## Install what is missing into .venv, nothing else
	@.ci/install

run: install ## Start the demo on one machine: control plane, Envoy, two data centres (ARGS="--minutes 5")
	@$(BIN)/signalbox demo $(ARGS)

# Only tests need a browser and servers here; a reader of the demo brings their own browser.
test: lint ## Install what is missing, check and test everything (ARGS="-k name")
	@.ci/browser
	@.ci/servers
	@.ci/test $(ARGS)

cover: install ## Measure branch coverage: domain 100 %, all 95 % (ARGS="-k name")
	@.ci/cover $(ARGS)

accept: install ## Show line, figure and verdict of a topic's acceptance tests (TOPIC=main_path)
	@$(BIN)/python -m pytest -q tests/acceptance/test_$(TOPIC).py $(ARGS)

soak: install ## Play two weeks of simulated time against the real program, 20 minutes, alone
	@$(BIN)/python -m pytest -q tests/soak/short_story.py tests/soak/two_weeks.py $(ARGS)

bench: install ## Run all benchmarks (ARGS="--quick --json")
	@set -e; for name in $(BENCHMARKS); do $(BIN)/python -m benchmarks.$$name $(ARGS); done

lint: install ## Check style, types, layers and sizes
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python .ci/sizes.py

format: install ## Format and fix what can be fixed
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# A local version (+cpu) names a build of one machine, and an editable line a path of it.
constraints: install ## Write constraints.txt from what is installed now
	@{ head -1 constraints.txt; $(BIN)/python -m pip freeze --exclude-editable | sed 's/+[a-z0-9]*$$//' \
	  | grep -v ' @ '; } > constraints.new && mv constraints.new constraints.txt

clean: ## Remove the environment and every cache
	@rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis \
	  .import_linter_cache .coverage .coverage.* htmlcov
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
