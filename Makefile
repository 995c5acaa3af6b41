# `make help` lists what can be done here. demo and test also do all set-up.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.installed
CLASSES := $(VENV)/spark-classes.jsa
WITH_JAVA := JAVA_HOME="$$(tools/ensure_java.sh)" && export JAVA_HOME &&
SOURCES := src tests bench examples tools
# Extra words for pytest, for example: make test ARGS="-k domain -x"
ARGS ?=
# The PySpark of `make test-spark`, and what is installed for it.
SPARK ?= 4.3
PYSPARK ?= pyspark
# Two processes, each with a Spark session of its own: on two cores a third gains nothing.
PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist loadgroup
# What needs no Spark must not find one either: there is no Java in this place.
FAST := JAVA_HOME=/nonexistent HYPOTHESIS_PROFILE=fast $(PYTEST) -m "not spark"
# Delta, Iceberg and databases have a Spark of their own, and are tested beside the rest; a run of some tests only
# leaves them out. What they say comes at the end, and either failure counts.
SOURCES_TOO = $(if $(ARGS)$(filter-out pyspark,$(PYSPARK)),,tools/beside_tests.sh $(VENV))
# A run of everything takes some of the cases of tests that need Spark, and the next run may take others.
CASES = $(if $(ARGS),,HEADGATE_CASES=some HYPOTHESIS_PROFILE=fast)
THOROUGH := HEADGATE_QUERIES=5000 HEADGATE_STREAMS=500 HEADGATE_SUITES=all HYPOTHESIS_PROFILE=thorough

.PHONY: demo
demo: $(READY) ## a star schema, a stream, a moving threshold and a graph, with Headgate off and on
	@$(WITH_JAVA) $(BIN)/headgate demo

.PHONY: test-fast
test-fast: $(READY) ## what needs neither Spark nor Java: under a minute
	@$(FAST) $(ARGS)

.PHONY: test
test: $(READY) $(CLASSES) ## everything that has to pass (ARGS="-k name" narrows it)
	@$(WITH_JAVA) $(CASES) $(SOURCES_TOO) $(PYTEST) $(ARGS)

.PHONY: test-all
test-all: $(READY) $(CLASSES) ## the same with every query, stream and example that can be drawn: hours
	@$(WITH_JAVA) $(THOROUGH) $(PYTEST) $(ARGS)

.PHONY: test-spark
test-spark: ## the tests with another PySpark, in its own environment: SPARK=4.1 (ARGS narrows them)
	@$(MAKE) --no-print-directory VENV=.venv-spark-$(SPARK) PYSPARK="pyspark==$(SPARK).*" test

.PHONY: check
check: $(READY) $(CLASSES) ## formatting, lint and types, then the tests: what CI runs
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/mypy
	@$(MAKE) --no-print-directory docs
	@$(WITH_JAVA) $(CASES) $(SOURCES_TOO) $(PYTEST) $(ARGS)

.PHONY: docs
docs: $(READY) ## the pages of docs/ as a site, in build/site; a dead link is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

.PHONY: coverage
coverage: $(READY) ## how much of the code the fast tests run
	@$(FAST) --cov --cov-report=term:skip-covered $(ARGS)

.PHONY: format
format: $(READY) ## format the code and fix what ruff can fix
	@$(BIN)/ruff format $(SOURCES)
	@$(BIN)/ruff check --fix $(SOURCES)

.PHONY: bench-domain
bench-domain: $(READY) ## measure domains, filters and pruning against their bars
	@$(BIN)/python -m bench.domain

.PHONY: bench-batch
bench-batch: $(READY) ## time selective star queries: Spark alone, with Headgate, and the limit
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	@$(WITH_JAVA) $(BIN)/python -m bench.batch $(ARGS)

.PHONY: bench-graph
bench-graph: $(READY) ## time steps of a graph against Spark's joins and DuckDB, and forms of filters
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	@$(WITH_JAVA) $(BIN)/python -m bench.graph $(ARGS)

.PHONY: bench-tables
bench-tables: $(READY) ## time joins and MERGE over Delta and Iceberg, and check advice (ARGS="--parts merge")
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	@tools/with_table_jars.sh $(VENV) -m bench.tables $(ARGS)

.PHONY: bench-watermark
bench-watermark: $(READY) ## time streams with late rows, with Headgate and without; kill one 20 times
	@$(WITH_JAVA) $(BIN)/python -m bench.watermark $(ARGS)

.PHONY: bench-operator
bench-operator: $(READY) ## measure the dynamic filter operator against its bars; kill a table it keeps 20 times
	@$(WITH_JAVA) $(BIN)/python -m bench.operator $(ARGS)

.PHONY: bench-late
bench-late: $(READY) ## measure the coordinator and filters that arrive late against their bars
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	@coordinator=0; $(BIN)/python -m bench.coordinator || coordinator=$$?; \
	  $(WITH_JAVA) $(BIN)/python -m bench.late $(ARGS) && exit $$coordinator

.PHONY: mutation
mutation: $(READY) ## plant known soundness bugs one at a time and see that the tests catch each
	@$(WITH_JAVA) $(BIN)/python tools/mutation_check.py $(ARGS)

.PHONY: soak
soak: $(READY) ## half an hour of queries and streams under writers and kills (ARGS="--minutes 2" shortens it)
	@$(WITH_JAVA) $(BIN)/python -m bench.soak $(ARGS)

.PHONY: clean
clean: ## remove caches and build results (keeps .venv and .bench)
	@rm -rf build dist artifacts spark-warehouse metastore_db derby.log .coverage
	@rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

$(READY): pyproject.toml
	@tools/ensure_venv.sh $(VENV)
	@echo "Installing Headgate and its tools into $(VENV) (first time: about a minute)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev "$(PYSPARK)"
	@touch $@

$(CLASSES): $(READY)
	@$(WITH_JAVA) $(BIN)/python tools/share_classes.py $@ 2>/dev/null
