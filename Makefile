# What people type. Each target sets up what it needs in .venv; nothing outside the tree is touched.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Where rustup puts cargo, for shells that don't know it.
export PATH := $(PATH):$(HOME)/.cargo/bin
# Compiled sources are kept, whatever the shell says: servers, commands and tests start in half the time.
unexport PYTHONDONTWRITEBYTECODE
# More words for a command, e.g. make differential ARGS='--requests 1000000'
ARGS   ?=
# Tests run in two processes for each core (tests/conftest.py); SPREAD= runs them in one.
SPREAD ?= --numprocesses auto --dist worksteal
# A plain constraints file pins versions: no lock file, no download addresses.
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help chart crds apiserver setup setup-pipeline dev demo demo-java test processes test-long pages peers interop spark spark-long differential attacks soak fuzz branches mutants mutants-sql mutants-generated mutants-native compiled fuzz-native fuzz-native-compiled sanitize-native native native-alone native-install native-installed native-wheel native-wheels native-bench nightly dist pictures report-pictures console-library container docs bench bench-quick bench-pipeline fmt lint types layers check clean

help: ## what there is to type
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "namekeeper needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	@echo 'Making .venv, with pip'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip --disable-pip-version-check install --quiet --upgrade 'pip>=25.1'

$(VENV)/.setup: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo 'Installing namekeeper and what it needs in .venv'
	$(PIP) --editable .
	$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.pipeline: $(VENV)/.setup
	@echo 'Installing Spark in .venv: a gigabyte, which takes some minutes. Ctrl-C stops; make goes on from here.'
	$(BIN)/python -m pip --disable-pip-version-check install --constraint constraints.txt --editable '.[pipeline]'
	@touch $@

$(VENV)/.test: $(VENV)/.pipeline
	@echo 'Installing what the tests need in .venv'
	$(PIP) --group test
	@echo 'Compiling the tests: otherwise each process of the first run compiles all of them'
	-$(BIN)/python -m pytest --quiet --collect-only tests >/dev/null
	@touch $@

$(VENV)/.dev: $(VENV)/.test
	@echo 'Installing the tools of development in .venv'
	$(PIP) --group dev
	@touch $@

setup: $(VENV)/.setup ## a virtual environment with namekeeper in it
setup-pipeline: $(VENV)/.pipeline ## the same with Spark, for the pipeline: a gigabyte more
dev: $(VENV)/.dev ## the same with every tool for development

demo: $(VENV)/.pipeline ## an incident in a small cluster, and what is remembered of it
	$(BIN)/namekeeper demo

demo-java: $(VENV)/.test ## a real Java broker, producer and consumer through namekeeper (needs java and mvn)
	$(BIN)/python -m tests.interop.demo_java

SHORT := -m 'not slow and not interop and not long'
test: $(VENV)/.test ## the tests that need neither Java nor a browser nor a process of their own
	$(BIN)/python -m pytest $(SPREAD) $(SHORT) --ignore tests/browser --ignore tests/process $(ARGS)

processes: $(VENV)/.test ## the tests that start servers and commands as processes, end them and look at what is left
	$(BIN)/python -m pytest $(SPREAD) $(SHORT) tests/process $(ARGS)

test-long: $(VENV)/.test ## tests of which `make test` and `make processes` take only a seed or a sample
	$(BIN)/python -m pytest $(SPREAD) -m 'long and not slow and not interop' --ignore tests/browser $(ARGS)

# By file: the tests of a file share a server or a warehouse, which takes half a minute to make.
pages: $(VENV)/.test ## the console and the report in a browser (needs chromium)
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile tests/browser $(ARGS)

peers: $(VENV)/.test ## fetch Java's releases and build the clients for interop, which else does it on its way
	$(BIN)/python -m tests.interop.peers

interop: $(VENV)/.test ## everything with real Java, C++, Go and Node peers (needs java and mvn)
	$(BIN)/python -m pytest $(SPREAD) -m interop tests/interop tests/unit/cli tests/differential $(ARGS)

build/native/.built: native/Cargo.toml native/pyproject.toml native/namekeeper_front.pyi $(wildcard native/src/*.rs) | $(VENV)/.dev
	rm -rf build/native
	cd native && cargo test --no-default-features --no-run
	$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir build/native ./native
	@touch $@

native-wheel: build/native/.built ## the wheel of the native front, in build/native (needs Rust: cargo)

chart: $(VENV)/.test ## what renders the Helm chart, for the tests of deploy/
	$(PIP) --group chart

OPERATOR := tests/deploy/operator
build/crds/.made: $(wildcard $(OPERATOR)/*)
	cd $(OPERATOR) && go tool controller-gen crd:maxDescLen=0 output:dir=$(CURDIR)/build/crds \
	    paths=github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1
	@touch $@

crds: build/crds/.made ## definitions of the Prometheus operator's resources, for the tests of deploy/ (needs go)

APISERVER := tests/deploy/apiserver
apiserver: ## an API server of Kubernetes for the tests of deploy/ (needs go, a quarter of an hour and 2 GB)
	cd $(APISERVER) && go build -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3' \
	    -o $(CURDIR)/build/apiserver/ tool

native-wheels: $(VENV)/.dev ## wheels for x86_64 and aarch64, glibc and musl, in build/native-wheels (rustup target add ...)
	$(PIP) --group native-wheels
	$(BIN)/python -m tests.release.front_wheels $(ARGS)

native: native-alone native-install ## the native front: its tests, both wheels in an empty environment, the server's tests with it
	$(MAKE) native-installed

native-alone: build/native/.built
	cd native && cargo test --no-default-features
	cd benchmarks/load/compiled && cargo check --quiet --target-dir ../../../build/bench/compiled
	$(BIN)/python -m tests.release.front

native-install: build/native/.built
	$(BIN)/python -m pip --disable-pip-version-check install --quiet --no-deps --force-reinstall build/native/*.whl

native-installed:
	MYPYPATH=native $(BIN)/python -m mypy.stubtest namekeeper_front --allowlist tests/native/stub_allowlist.txt
	$(BIN)/python -m pytest $(SPREAD) tests/native tests/unit/app/test_linearizability.py tests/unit/app/test_stats.py \
	    tests/unit/remoting/test_front.py tests/unit/remoting/test_lending.py tests/process/test_linearizability.py $(ARGS)

# Sanitizers and coverage are unstable flags; RUSTC_BOOTSTRAP has the stable compiler take them.
SANITIZED := RUSTC_BOOTSTRAP=1 RUSTDOCFLAGS='' RUSTFLAGS
COVERAGE := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cdebug-assertions \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares
HOST = $(shell PATH='$(PATH)' rustc -vV | sed -n 's/^host: //p')

compiled: build/crds/.made ## what Go and Rust compile for the tests and `make lint`; needs no .venv
	cd native && cargo test --no-default-features --no-run
	$(PYTHON) -m tests.prose --build
	$(MAKE) fuzz-native-compiled

fuzz-native-compiled:
	cd native/fuzz && cargo test --release --quiet --no-run --target-dir ../../build/native-fuzz
	cd native/fuzz && $(SANITIZED)='-Zsanitizer=address $(COVERAGE)' cargo build --release --quiet --features fuzzer \
	    --target $(HOST) --target-dir ../../build/native-fuzz

fuzz-native: fuzz-native-compiled ## libFuzzer and AddressSanitizer over the native front (needs cargo and c++); ARGS are libFuzzer's
	cd native/fuzz && cargo test --release --quiet --target-dir ../../build/native-fuzz
	for name in frames stream; do mkdir -p build/native-fuzz/found/$$name && \
	    build/native-fuzz/$(HOST)/release/$$name -artifact_prefix=build/native-fuzz/ -max_len=4096 -timeout=60 \
	    $(or $(ARGS),-max_total_time=60) build/native-fuzz/found/$$name native/fuzz/seeds/$$name || exit 1; done

sanitize-native: ## the native front's tests with AddressSanitizer, ThreadSanitizer, Miri (the last two: nightly Rust)
	cd native && $(SANITIZED)='-Zsanitizer=address' cargo test --no-default-features --lib --target $(HOST) \
	    --target-dir ../build/native-asan
	cd native && RUSTFLAGS='-Zsanitizer=thread' cargo +nightly test -Zbuild-std --no-default-features --lib \
	    --target $(HOST) --target-dir ../build/native-tsan
	cd native && cargo +nightly miri test --no-default-features --lib --target-dir ../build/native-miri -- frames header store

native-bench: native ## the same, and the compiled protocol of the bench's row bare-compiled
	cd benchmarks/load/compiled && cargo build --release --target-dir ../../../build/bench/compiled

pictures: $(VENV)/.test ## the pictures of the console in the documents (needs chromium); all views with ARGS='--all FOLDER'
	$(BIN)/python -m tests.browser.pictures $(ARGS)

report-pictures: $(VENV)/.test ## the same of the report; all views of it with ARGS='--all FOLDER'
	$(BIN)/python -m tests.browser.report_pictures $(ARGS)

console-library: $(VENV)/.test ## put the pinned Preact into the console, from the npm registry (needs npm)
	$(BIN)/python -m tests.release.console_library

spark: $(VENV)/.test ## the pipeline's tests on Spark: the law on dozens of histories, spark-submit, Connect, lost executors
	$(BIN)/python -m pytest --numprocesses 2 --dist loadscope tests/spark -m 'not long' $(ARGS)

spark-long: $(VENV)/.test ## what of them is too much for CI: runs that are killed, the tutorial as written, a cluster, 4 GiB
	$(BIN)/python -m pytest tests/spark -m long

differential: $(VENV)/.test ## the same requests to namekeeper and to Java's name servers, answers compared
	$(BIN)/python -m tests.differential $(ARGS)

attacks: $(VENV)/.test ## what one or a few peers can do to a server: memory, lookups, stop, recovery
	$(BIN)/python -m tests.attacks $(ARGS)

soak: $(VENV)/.test ## an hour of one server under load: memory, descriptors, threads stay flat; ARGS='--observer' for an observer
	$(BIN)/python -m tests.soak $(ARGS)

fuzz: $(VENV)/.test ## a bounded fuzzing run over every parser
	$(BIN)/python -m tests.fuzz $(ARGS)

mutants-sql: $(VENV)/.test ## the same for the SQL of the pipeline alone, by name if ARGS has one
	$(BIN)/python -m tests.mutants.sql $(ARGS)

mutants-native: $(VENV)/.test ## the same for the native front, by its own tests (needs cargo)
	$(BIN)/python -m tests.mutants.native $(ARGS)

$(VENV)/.mutation: $(VENV)/.test
	@echo 'Installing mutmut in .venv'
	$(PIP) --group mutation
	@touch $@

mutants-generated: $(VENV)/.mutation ## mutants that mutmut makes of the pure core: each caught, or in tests/mutants/survivors
	$(BIN)/python -m tests.mutants.generated $(ARGS)

branches: $(VENV)/.test ## branch coverage of each package by the unit tests, not below its floor; ARGS=--write sets floors
	$(BIN)/python -m tests.branches $(ARGS)

mutants: $(VENV)/.test ## seed known bugs one by one; each must be caught
	$(BIN)/python -m tests.mutants $(ARGS)
	$(BIN)/python -m tests.mutants.sql $(ARGS)

$(VENV)/.docs: $(VENV)/.setup
	@echo 'Installing what makes the site of the documents in .venv'
	$(PIP) --group docs
	@touch $@

docs: $(VENV)/.docs ## the documents as a site with search and an API reference, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

nightly: ## what is too deep for CI: all mutants, long law, whole differential and fuzzing runs
	.ci/nightly

dist: $(VENV)/.dev ## wheel and sdist, each installed in an empty environment and used
	$(BIN)/python -m tests.release

container: $(VENV)/.test ## the image of deploy/: built, started, asked, stopped (needs root and buildah)
	$(BIN)/python -m tests.release.container $(ARGS)

bench: $(VENV)/.test ## side by side with the Java name server and bare responders
	$(BIN)/python -m benchmarks.load $(ARGS)

bench-quick: $(VENV)/.test ## a smoke run of the benches, in some minutes: all rows with two servers, two rows with all
	$(BIN)/python -m benchmarks.load --quick --servers namekeeper,bare-c --results build/bench-quick $(ARGS)
	$(BIN)/python -m benchmarks.load --quick --only lookups-16,registration-json --results build/bench-quick-all
	$(BIN)/python -m benchmarks.client --quick
	$(BIN)/python -m benchmarks.broker --quick

bench-pipeline: $(VENV)/.test ## the pipeline beside Spark's bare parse-and-write and DuckDB
	$(BIN)/python -m benchmarks.pipeline $(ARGS)

fmt: $(VENV)/.dev ## format and sort
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

lint: $(VENV)/.dev ## style, and prose if Go is there
	$(BIN)/ruff format --check . && $(BIN)/ruff check .
	$(BIN)/python -m tests.prose

types: $(VENV)/.dev ## types
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini

layers: $(VENV)/.dev ## which package may import which
	$(BIN)/lint-imports

check: lint types layers test processes ## all of it but Java

clean: ## what was built
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
