# ptc: `make train` and `make test` are all that a newcomer needs; `make help`
# lists the rest. Nothing here needs more than Go, make and, for native code,
# libLLVM, and for tests of several processes MPI; scripts/setup.sh installs
# both where they are missing.

SHELL       := /bin/bash
GO          ?= go
COMMIT      := $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS     := -s -w -X main.commit=$(COMMIT)
FUZZTIME    ?= 10m
TRAIN_STEPS ?=
RANDOM_CASES ?= 2000
export CGO_ENABLED := 0

# Without LLVM the reference interprets what otherwise is native code, so that
# `make train` takes a smaller model there.
SMALL := --set layers=2 --set embed=64 --set heads=2 --set head=32 --set seq=64 --set batch=8 --set steps=300

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## check Go, build, and install libLLVM if it is missing
	@GO="$(GO)" scripts/setup.sh

.PHONY: build
build: ## build the static binary bin/ptc
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ptc ./cmd/ptc

.PHONY: train
train: setup ## compile examples/gpt, train it on the spot and show its loss
	@set -e; small=""; \
	if ! bin/ptc doctor --require llvm >/dev/null; then \
	  echo "make train: no libLLVM, so this trains a smaller GPT on the reference backend, slowly"; \
	  small="$(SMALL)"; \
	fi; \
	bin/ptc compile examples/gpt/gpt.ptl $$small -o bin/gpt.bin; \
	bin/ptc run bin/gpt.bin $(if $(TRAIN_STEPS),--steps $(TRAIN_STEPS))

.PHONY: test
test: ## install what is needed, then all checks and all tests
	@GO="$(GO)" scripts/setup.sh llvm mpi
	@$(MAKE) --no-print-directory check
	@bin/ptc doctor --require llvm >/dev/null 2>&1 || { export PTC_LLVM=none; echo "make test: no libLLVM, so the tests of native code are left out"; }; \
	bin/ptc doctor --require mpi >/dev/null 2>&1 || { export PTC_MPI=none; echo "make test: no MPI, so the tests of several processes are left out"; }; \
	echo "$(GO) test ./..."; $(GO) test ./...

.PHONY: check
check: ## gofmt and go vet
	@unformatted=$$(find . -name '*.go' -not -path './.*' -not -path '*/testdata/*' -print0 | xargs -0 "$$($(GO) env GOROOT)/bin/gofmt" -l); \
	if [ -n "$$unformatted" ]; then echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...

# A crasher found this way is written below the package's testdata/fuzz and
# from then on is part of its tests.
.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (default 10m) each
	@set -e; grep -rlE '^func Fuzz' --include='*_test.go' . | sort | while read -r file; do \
	  for target in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$$file"); do \
	    echo "== $$(dirname "$$file") $$target ($(FUZZTIME))"; \
	    $(GO) test "$$(dirname "$$file")" -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x; \
	  done; \
	done

.PHONY: parity
parity: build ## train gpt and llama here and in an independent framework, and compare
	bench/parity/run.sh

.PHONY: matrix
matrix: ## train every example under every layout of bench/matrix, and compare
	$(GO) run ./bench/matrix/run

.PHONY: random
random: ## compare RANDOM_CASES (default 2000) random models and layouts with one device
	$(GO) run ./bench/random/run -n $(RANDOM_CASES)

.PHONY: minimalloc
minimalloc: ## place the memory problems *.csv of MINIMALLOC_DIR: NAME PEAK CAPACITY SECONDS
	@MINIMALLOC_DIR="$(MINIMALLOC_DIR)" $(GO) run ./bench/minimalloc

.PHONY: bench
bench: ## run the benchmarks once each
	$(GO) test ./... -run '^$$' -bench . -benchtime 1x

.PHONY: clean
clean: ## remove what make built
	rm -rf bin
