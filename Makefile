# Needs Python 3.11 or newer (with venv), make (3.81 will do) and a package index.
PYTHON ?= python3
SAMPLE := sample_logs
VENV := .venv
BIN := $(VENV)/bin
TRAIN := .venv-train

.PHONY: help convert test test-ray test-slurm remote conformance test-web train check check-code nightly house fuzz fuzz-fixed simulate same-bytes agents soak format docs docs-site man release compare bench bench-guard bench-redact bench-view scale profile clean

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

# Bytecode is cached in the environment, so that workers and commands started by tests do not compile the package again.
# Installed packages are compiled there on import.
CACHED := PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX="$(CURDIR)/$(VENV)/bytecode"
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

# Temporary files of tests are in memory if there is room and TMPDIR is not set, because flushing to a disk is slow.
IN_MEMORY := room=`df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 {print $$4}'`; \
  if [ -z "$$TMPDIR" ] && [ -w /dev/shm ] && [ "$${room:-0}" -gt 8000000 ]; then \
  TMPDIR=`mktemp -d /dev/shm/chatsquash.XXXXXX` && export TMPDIR && \
  trap 'rm -rf "$$TMPDIR"' EXIT && trap 'exit 130' INT TERM; fi;

# The runtime dependencies are complete if this stamp is newer than pyproject.toml. Of pip's output, only downloads and their
# sizes are printed. The stamp is written only if pip succeeds.
FETCH := $(BIN)/python -m pip install --progress-bar off --disable-pip-version-check --no-compile
FETCHED = while read -r how file size; do case "$$how" in Using) file=$${size%% *} size=$${size\#* } ;; esac; \
  version=$${file\#*-}; case "$$how $$file" in *.metadata) ;; \
  "Downloading "*) echo "  downloads $${file%%-*} $${version%%-*} $$size" ;; \
  "Using "*) echo "  has $${file%%-*} $${version%%-*} $$size" ;; esac; done
$(VENV)/core: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "chatsquash needs Python 3.11 or newer; '$(PYTHON)' is `$(PYTHON) --version 2>&1`." >&2; \
	  echo "Name another with: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Creating $(VENV) with the runtime dependencies ..."
	@$(PYTHON) -m venv --clear $(VENV)
	@{ $(FETCH) --editable . && touch $@; } | $(FETCHED)
	@[ -f $@ ]

$(VENV)/installed: $(VENV)/core
	@echo "Installing the test dependencies into $(VENV) ..."
	@$(PIP) --editable '.[dev]'
	@touch $@

# LOGS are shell words, and the first one names the output folder; for a file or a quoted glob, its folder does.
NAMED = set -- $(LOGS); folder=$${1%%[*?[]*}; [ "$$folder" = "$$1" ] || folder=$${folder%/*}; \
  [ -d "$$folder" ] || folder=`dirname -- "$$folder"`; \
  out="out-`cd -- "$$folder" 2>/dev/null && pwd | sed 's,.*/,,'`";

# Exit code 3 means that sessions or lines were skipped; the output is complete otherwise, so make succeeds.
convert: $(VENV)/core ## Convert LOGS (sample_logs) to OUT (out, or out- and the name of LOGS); REPLACE=1 replaces
	@$(if $(OUT),out="$(OUT)";,$(if $(LOGS),$(NAMED),out=out;)) \
	$(BIN)/chatsquash convert $(or $(LOGS),$(SAMPLE)) --output "$$out" $(if $(REPLACE),--replace) \
	|| { code=$$?; [ $$code = 3 ] || exit $$code; }

test: $(VENV)/installed ## Run all tests, with temporary files in memory if there is room
	@$(IN_MEMORY) $(CACHED) $(BIN)/python -m pytest -n auto --dist worksteal

test-slurm: $(VENV)/installed ## Run the recipe for Slurm on a cluster of one node on loopback, if Slurm and munge are installed
	@$(BIN)/python -m tests.recipes.slurm

# Azurite emulates Azure and comes from npm; without npm, its test is skipped with a message.
$(VENV)/azurite: $(VENV)/installed
	@npm install --silent --no-fund --no-audit --prefix $@ azurite > $@.log 2>&1 \
	  || { rm -rf $@; echo "Azurite cannot be installed here, so az:// is not tested: see $@.log"; }

remote: $(VENV)/azurite ## Convert with emulated stores and PLANS (50) plans of faults
	@FAULT_PLANS=$(or $(PLANS),50) $(BIN)/python -m pytest -n auto $(or $(ONLY),tests/remote)

# The stamp is in the environment, so that it disappears with it. Oumi is installed without its training dependencies, and
# Harbor without its own (and for any version of Python), because their types need neither.
$(VENV)/conformance: $(VENV)/installed
	@echo "Installing the libraries of the formats ..."
	@$(PIP) --editable '.[conformance]'
	@$(PIP) --no-deps 'oumi>=0.9'
	@$(PIP) --no-deps --ignore-requires-python 'harbor>=0.26'
	@touch $@

# Other readers of agents' files have many dependencies, so they get a separate environment. Their versions are pinned because
# tests/conformance/differences.toml lists how they differ.
$(VENV)/peers: $(VENV)/installed
	@echo "Installing other readers of agents' files ..."
	@$(PYTHON) -m venv $@ && $@/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
	  'teich==0.3.6' 'inspect-scout==0.6.1' 'inspect-ai==0.3.285' > $@.log 2>&1 \
	  || { rm -rf $@; echo "teich and inspect-scout cannot be installed here, so they are not run: see $@.log"; }

# verifiers reads the traces of a forest, and prime-rl's script needs datasets.
$(VENV)/verifiers: $(VENV)/installed
	@echo "Installing verifiers ..."
	@$(PYTHON) -m venv $@ && $@/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
	  'verifiers==0.4.0' datasets > $@.log 2>&1 \
	  || { rm -rf $@; echo "verifiers cannot be installed here, so it is not run: see $@.log"; }

conformance: $(VENV)/conformance $(VENV)/peers $(VENV)/verifiers ## Compare the formats with their own libraries and with other readers
	@$(IN_MEMORY) $(CACHED) $(BIN)/python -m pytest -n auto tests/conformance

$(VENV)/ray: $(VENV)/installed
	@echo "Installing Ray ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[ray]'
	@touch $@

test-ray: $(VENV)/ray ## Convert on local Ray clusters of two nodes that are killed
	@$(BIN)/python -m pytest -n0 tests/ray

# Chromium is taken from CHROMIUM or PATH, never downloaded. If it, Playwright or axe-core is missing, a line names the tests
# that are skipped.
$(VENV)/web: $(VENV)/installed
	@npm install --silent --no-fund --no-audit --prefix $@ axe-core > $@.log 2>&1 && touch $@ \
	  || { rm -rf $@; echo "axe-core cannot be installed here, so its tests are skipped: see $@.log"; }
	@$(PIP) 'playwright>=1.49' > $@-driver.log 2>&1 \
	  || { rm -rf $@; echo "Playwright cannot be installed here, so no page is opened: see $@-driver.log"; }

test-web: $(VENV)/web ## Test pages in the Chromium at CHROMIUM or on PATH; SCREENSHOTS=docs writes docs/*.png
	@CHROMIUM="$(CHROMIUM)" SCREENSHOTS="$(SCREENSHOTS)"; export CHROMIUM SCREENSHOTS; $(IN_MEMORY) $(CACHED) $(BIN)/python -m pytest -n0 tests/web

# One environment per trainer, sharing a CPU build of PyTorch, which TORCH_INDEX, PIP_FIND_LINKS and TORCH locate.
train: $(VENV)/installed ## Run the trainers of docs/training.md, or those of ONLY, on the sample logs, offline
	@TRAIN="$(TRAIN)" TORCH="$(TORCH)" TORCH_INDEX="$(TORCH_INDEX)" $(BIN)/python -m tests.train $(ONLY)

check: check-code test ## Format, lint, types, import contract, tests

check-code: $(VENV)/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

house: $(VENV)/installed ## Measure the structure of the code; fail if a figure is worse than recorded
	@$(BIN)/python -m tests.house $(HOUSE)

fuzz: $(VENV)/installed ## Test random damaged logs for SECONDS (60), and 2,000 damaged files per source; failures are kept in tests/fuzz/corpus
	@$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),60)
	@MUTATIONS=2000 $(CACHED) $(BIN)/python -m pytest -n auto tests/samples/test_damage.py

nightly: fuzz-fixed conformance simulate ## Run the slow proofs: fuzz-fixed, conformance and simulate

fuzz-fixed: $(VENV)/installed ## Test the same 20,000 damaged logs in every run, and the slow properties
	@$(CACHED) $(BIN)/python -m tests.fuzz --count 20000
	@MUTATIONS=500 $(CACHED) $(BIN)/python -m pytest -n auto tests/samples/test_damage.py
	@$(IN_MEMORY) $(CACHED) HYPOTHESIS_PROFILE=whole $(BIN)/python -m pytest -n auto -m 'long or hypothesis' --ignore tests/formats/test_laws.py
	@$(IN_MEMORY) $(CACHED) HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest -n auto tests/formats/test_laws.py

simulate: $(VENV)/installed ## Convert 2,000 simulated sessions and 2,000 hard ones, and compare with the truth; SIMULATE for options
	@$(BIN)/python -m tests.simulator --count 2000 $(SIMULATE)
	@$(BIN)/python -m tests.simulator --count 2000 --hard $(SIMULATE)

same-bytes: $(VENV)/installed ## Compare all output with that of BASE (182959f8), byte for byte; SAME_BYTES for options
	@$(BIN)/python -m tests.same_bytes --base $(or $(BASE),182959f8) $(SAME_BYTES)

# Agents come from npm and PyPI into .agents/installed, never into the environment; one that cannot be installed is skipped.
# Examples: make agents ONLY=codex AGENTS='--scenario fork'; AGENTS=--litellm puts LiteLLM's proxy between agent and model;
# --check runs no agent; --pack writes fixtures.
agents: $(VENV)/installed ## Run real agents, or those of ONLY, against a scripted model; writes to docs/sources.md; AGENTS for options
	@$(BIN)/python -m tests.agents $(ONLY) $(AGENTS)

soak: $(VENV)/installed ## Convert 100,000 small sessions, 1 % of them broken; writes to docs/reliability.md
	@$(BIN)/python -m bench.soak $(SOAK)

format: $(VENV)/installed ## Format the code and apply the linter's fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/installed ## Regenerate the generated pages and the output of the notebook
	$(BIN)/python -m tests.generate
	$(BIN)/python -m tests.notebooks

$(VENV)/docs: $(VENV)/installed
	@echo "Installing the site generator ..."
	@$(PIP) --editable '.[docs]'
	@touch $@

docs-site: $(VENV)/docs ## Build the site in site/ with strict links, and check that it loads nothing from other hosts
	@NO_MKDOCS_2_WARNING=1 $(CACHED) $(BIN)/python -m mkdocs build --strict
	@SITE=site $(CACHED) $(BIN)/python -m pytest -n0 tests/site

man: $(VENV)/installed ## Write the manual pages, one for each command, to man/
	@$(BIN)/python -m tests.man man

$(VENV)/release: $(VENV)/installed
	@echo "Installing the build tools ..."
	@$(PIP) --editable '.[release]'
	@touch $@

release: $(VENV)/release ## Build wheel and sdist into dist, twice, and test them with each installed Python
	@$(BIN)/python -m tests.release

# Takes about 20 minutes on two idle cores, and reports what could not be measured. Other converters are installed from PyPI
# below bench/.data. BASE=182959f8 compares with that revision, which uses the packages of .venv, and writes bench/goals.md
# instead. Examples: BENCH='--quick --profile real --part options' (writes no page), BENCH='--beside OTHER/.venv/bin/chatsquash'.
bench: $(VENV)/installed ## Measure speed and memory and write docs/performance.md; LOGS=FOLDER measures your logs; BASE=REVISION compares
	@$(BIN)/python -m bench.run $(if $(BASE),--base $(BASE)) $(if $(LOGS),--logs "$(LOGS)") $(BENCH)

compare: $(VENV)/installed ## Compare with other converters on the same logs; writes docs/comparison.md; COMPARE for options
	@$(BIN)/python -m bench.comparison $(COMPARE)

bench-redact: $(VENV)/installed ## Measure recall, false positives and speed of redaction; writes to docs/redaction.md; REDACT for options
	@$(BIN)/python -m bench.redact.run $(REDACT)

bench-view: $(VENV)/installed ## Measure chatsquash view with 100,000 sessions; writes to docs/view.md; VIEW for options
	@$(CACHED) $(BIN)/python -m bench.view $(VIEW)

# Uses the rates in bench/rates.json; SCALE='--measure --compare' measures this machine first.
scale: $(VENV)/installed ## Estimate the cost of runs over terabytes; writes docs/scaling.md; SCALE for options
	@$(BIN)/python -m bench.scale $(SCALE)

bench-guard: $(VENV)/installed ## Fail if small conversions take 3 % more instructions than recorded in bench/guard.json; GUARD=--record lowers
	@$(BIN)/python -m bench.guard $(GUARD)

profile: $(VENV)/installed ## Show the CPU time by phase for the logs PROFILE (standard)
	@$(BIN)/python -m bench.phases $(or $(PROFILE),standard)

clean: ## Remove the environment, the output and build results
	rm -rf $(VENV) $(TRAIN) dist site man "$(or $(OUT),out)"
