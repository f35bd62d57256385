# `make setup` needs Python 3.11 or newer, git and make; everything else goes into .venv.

# The first interpreter that really runs: version managers put names on the path that only print an error.
CANDIDATES := python3.11 python3.12 python3.13 python3
RUNS := -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
PYTHON ?= $(shell for python in $(CANDIDATES); do $$python $(RUNS) && echo $$python && break; done)
BIN := .venv/bin

.PHONY: setup try demo test check docs notebooks page bench release-check clean

setup: .venv/.ready

.venv/.ready: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS)) --editable '.[dev]'
	@# Both compile their kernels, a core each, and check them.
	@$(BIN)/w4s doctor --city & city=$$!; $(BIN)/w4s doctor && wait $$city
	touch $@

# The first picture, with the planner that comes with the package.
try: setup
	$(BIN)/w4s demo --ready

demo: setup
	$(BIN)/w4s demo --out out/demo

# Two processes; a file stays in one of them, as do the cities and runs that its tests share.
test: setup
	$(BIN)/python -m pytest -m "not slow and not faults" -n 2 --dist loadfile --no-loadscope-reorder

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# Not --quiet: it hides warnings from --strict, too.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The site: site/index.html. With search: $(BIN)/python -m http.server -d site"

# Runs the notebooks and keeps what they print; the tests only run them.
notebooks: setup
	$(BIN)/jupyter execute --inplace notebooks/*.ipynb

# Builds sdist and wheel, and tests the wheel in empty environments. EXTRAS='base train' chooses; all unless given.
release-check:
	$(PYTHON) .ci/release_check.py $(EXTRAS)

# The explorer's page from its TypeScript sources; needs Node, which nothing else does.
page:
	cd explorer && npm ci && npm run check && npm run build

bench: setup
	$(BIN)/python benchmarks/exactness.py
	$(BIN)/python benchmarks/outcomes.py
	$(BIN)/python benchmarks/install_size.py
	$(BIN)/python benchmarks/prepare.py
	$(BIN)/python benchmarks/store.py
	$(BIN)/python benchmarks/checksums.py
	$(BIN)/python benchmarks/drop_in.py
	$(BIN)/python benchmarks/pools.py
	$(BIN)/python benchmarks/model.py --paper-passes 2
	$(BIN)/python benchmarks/serving.py
	$(BIN)/python benchmarks/cube.py
	$(BIN)/python benchmarks/city.py --data out/bench-city
	$(BIN)/python benchmarks/render.py out/bench-city/city/networks/berlin.net.xml
	$(BIN)/python benchmarks/images.py
	$(BIN)/python benchmarks/load.py --parts scenes frames
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/speed.py

clean:
	rm -rf .venv build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -exec rm -rf {} +
