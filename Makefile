# ptc: `make train` and `make test` are all that a newcomer needs; `make help`
# lists the rest. Nothing here needs more than Go, make and, for native code,
# libLLVM, and for tests of several processes MPI; scripts/setup.sh installs
# both where they are missing.

SHELL       := /bin/bash
GO          ?= go
COMMIT      := $(shell git describe --tags --always --dirty 2>/dev/null)
# Where there is one, the binary starts in cmd/ptc/start_linux_amd64.s.
ENTRY       := $(if $(filter linux/amd64,$(shell $(GO) env GOOS)/$(shell $(GO) env GOARCH)),-E main.entryPoint)
LDFLAGS     := -s -w -X main.commit=$(COMMIT) $(ENTRY)
FUZZTIME    ?= 10m
TRAIN_STEPS ?=
TRAINED     := bin/gpt-ckpt
RANDOM_CASES ?= 2000
# Go ends the tests of a package after 10 minutes by itself, which the longest
# reach where other work takes the processors. This ends only what hangs.
TEST_TIMEOUT ?= 60m
export CGO_ENABLED := 0
# One form of each package, for the binary and for tests, is compiled once.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)

# Without LLVM the reference interprets what otherwise is native code, so that
# `make train` takes a smaller model there.
SMALL := --set layers=2 --set embed=64 --set heads=2 --set head=32 --set seq=64 --set batch=8 --set steps=300

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z0-9_-]*:.*## / { name[++n] = $$1; text[n] = $$2; if (length($$1) > width) width = length($$1) } \
	  END { for (i = 1; i <= n; i++) printf "make %-" width "s  %s\n", name[i], text[i] }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## check Go, build, and install libLLVM if it is missing
	@GO="$(GO)" scripts/setup.sh

.PHONY: build
build: ## build the binary bin/ptc
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ptc ./cmd/ptc

# The model is kept where a clean tree does not show it. Each start is one from the
# first step, so that it works after any change of the model; what the last one
# trained is replaced when there is something to replace it with.
.PHONY: train
train: setup ## compile examples/gpt, train it on the spot and show its loss
	@set -e; small=""; \
	if ! bin/ptc doctor --require llvm >/dev/null; then \
	  echo "make train: no libLLVM, so this trains a smaller GPT on the reference backend, slowly"; \
	  small="$(SMALL)"; \
	fi; \
	bin/ptc compile examples/gpt/gpt.ptl $$small -o bin/gpt.bin; \
	bin/ptc run bin/gpt.bin --checkpoint $(TRAINED) --overwrite $(if $(TRAIN_STEPS),--steps $(TRAIN_STEPS)); \
	echo; \
	echo "make train: the model is in $(TRAINED). To train it on, to step N in all:"; \
	echo "  bin/ptc run bin/gpt.bin --checkpoint $(TRAINED) --resume --steps N"; \
	echo "Another make train starts from the first step and replaces it."

.PHONY: test
test: ## install what is needed, then all checks and all tests
	@GO="$(GO)" scripts/setup.sh llvm mpi
	@$(MAKE) --no-print-directory check
	@bin/ptc doctor --require llvm >/dev/null 2>&1 || { export PTC_LLVM=none; echo "make test: no libLLVM, so the tests of native code are left out"; }; \
	bin/ptc doctor --require mpi >/dev/null 2>&1 || { export PTC_MPI=none; echo "make test: no MPI, so the tests of several processes are left out"; }; \
	command -v python3 >/dev/null || { export PTC_PYTHON=none; echo "make test: no python3, so the tests of the Python package are left out"; }; \
	export PTC_VERIFY_EACH=1 GOGC=400; \
	echo "PTC_VERIFY_EACH=1 GOGC=400 $(GO) test -vet=off -timeout $(TEST_TIMEOUT) ./..."; $(GO) test -vet=off -timeout $(TEST_TIMEOUT) ./...

# The detector is a C library. It does not see what native code reads and writes.
RACED := ./runtime/comm/local ./runtime/cuda/... ./runtime/device/... ./runtime/exec ./runtime/native ./runtime/program ./runtime/train

.PHONY: race
race: ## run the tests of the runtime under the race detector (takes a C compiler)
	@cc="$$(CGO_ENABLED=1 $(GO) env CC)"; command -v "$${cc%% *}" >/dev/null || { \
	  echo "make race: the race detector takes cgo and a C compiler, and there is no $$cc: install gcc or clang, or name one with CC="; exit 1; }
	CGO_ENABLED=1 $(GO) test -race -timeout $(TEST_TIMEOUT) $(RACED)

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

# Packages, and results of workloads that are done, are in PEERS_DIR, outside of the tree. PEERS takes
# flags, such as PEERS='--only tiny' or PEERS=--quick.
.PHONY: bench-peers
bench-peers: build ## measure ptc beside JAX, PyTorch and BLAS libraries: bench/results.json, docs/performance.md
	bench/peers/run.sh $(PEERS)

# The libraries are in TOKENIZERS_DIR, outside of the tree.
.PHONY: tokenizer-check
tokenizer-check: ## compare tokens with the libraries tokenizers, tiktoken and sentencepiece
	bench/tokenizers/run.sh

.PHONY: chat-check
chat-check: build ## compare conversations with transformers: text, tokens, masks, and the loss of a fine-tuned model
	bench/chat/run.sh

# MinIO's server is built from its Go module into MINIO_DIR, outside of the tree.
.PHONY: minio-check
minio-check: ## read and prepare data from MinIO's server, and save checkpoints to it
	bench/minio/run.sh

# NVIDIA's assembler is in PTX_DIR, outside of the tree. PTX takes flags, such as PTX='--only gpt2'.
.PHONY: ptx-check
ptx-check: ## assemble the kernels of the examples, GPT-2 and Llama for GPUs with NVIDIA's assembler: bench/ptx.json
	bench/ptx/run.sh $(PTX)

# Triton is in TRITON_DIR, outside of the tree. TRITON takes flags, such as TRITON='--only attention'.
.PHONY: triton-check
triton-check: ## run kernels that Triton compiles for GPUs under the emulator, and compare with float64
	bench/triton/run.sh $(TRITON)

# The types are those of a module of its own, which Go fetches.
.PHONY: operators-check
operators-check: ## hold the manifests of `ptc deploy` to the types of the MPI operator and of Kueue
	cd bench/operators && $(GO) test -count=1 ./...

# Without Chromium this says so and fails: a page that no browser has shown is not tried.
.PHONY: report-check
report-check: ## try the pages of `ptc report` and `ptc run --serve` in Chromium
	@GO="$(GO)" scripts/setup.sh chromium
	$(GO) test -count=1 -tags browser ./bench/report

# TensorBoard is in PEERS_DIR, outside of the tree, as for bench-peers; PYTHON names another.
.PHONY: events-check
events-check: build ## read event files of a run with TensorBoard's own reader
	bench/events/run.sh

# Libraries of arm64 are in ARM_DIR, outside of the tree. ARM takes flags of go test and packages, such as
# ARM='-run TestNative ./backend/kernel/gemm'.
.PHONY: arm-check
arm-check: ## run native code for arm64 under an emulator (takes qemu-aarch64, and downloads libraries)
	bench/arm/run.sh $(ARM)

# TREE_SITTER may name the binary of tree-sitter, which then takes the grammar too.
.PHONY: editor-check
editor-check: ## hold a session of Neovim with ptc lsp, as editors/nvim has it
	@GO="$(GO)" scripts/setup.sh nvim
	bench/editor/run.sh

# Where there is none, it says how to try the folder bin/gpu-check elsewhere; GPU_CHECK_BUILD_ONLY=1 only makes it.
.PHONY: hf-check
hf-check: build ## hold the families of std.models to transformers: logits, import, export, GGUF
	bench/hf/run.sh

.PHONY: launch-check
launch-check: build ## compare translated launch configurations by the parsers of Megatron-LM, torchtitan, DeepSpeed, MaxText and others
	bench/launch/run.sh

.PHONY: gpu-check
gpu-check: ## try plans on a GPU: kernels, training, layouts, and speed beside PyTorch and JAX
	bench/gpu/bundle.sh

.PHONY: matrix
matrix: ## train every example under every layout of bench/matrix, and compare
	$(GO) test ./bench/matrix -run '^TestLayouts' -all -v -timeout 0
	$(GO) test ./compiler -run '^(TestOffloadIsExact|TestMutants|TestAttentionKinds|TestLossInChunks|TestRingsAreKernels|TestKernels)$$' -slow -timeout 0
	$(GO) test ./passes -slow -timeout 0

.PHONY: fake
fake: ## run the runtime and every layout of bench/matrix on an engine that delays and reorders, and with faults
	$(GO) test ./compiler -run '^TestFake' -fake-all -timeout 0
	$(GO) test ./runtime/exec -run '^TestMutants$$' -mutants -timeout 0

.PHONY: emulated
emulated: ## train every layout of bench/matrix on several devices of one GPU that is emulated, and compare
	$(GO) test ./bench/gpu -run '^TestLayouts$$' -all -timeout 0

.PHONY: random
random: ## compare RANDOM_CASES (default 2000) random models and layouts with one device, damage as many, and mutate plans
	$(GO) test ./bench/random -run '^TestRandomLayouts$$' -v -cases $(RANDOM_CASES) -timeout 0
	$(GO) test ./bench/random -run '^TestRandomPrecisions$$' -v -cases $(RANDOM_CASES) -timeout 0
	$(GO) test ./bench/random -run '^TestDamagedPrograms$$' -damaged $(RANDOM_CASES) -damaged-share 4 -timeout 0
	$(GO) test ./passes/validate -run '^TestMutants$$' -mutants 4 -timeout 0
	$(GO) test ./compiler -run '^TestRandomBudgets$$' -budgets 16 -timeout 0
	$(GO) test ./compiler -run '^TestAutoIsNeverWorse$$' -autos 40 -timeout 0

# RECIPES takes flags, such as RECIPES='-only 405B'.
.PHONY: recipes
recipes: ## compile some forty published recipes at their sizes, and compare memory and traffic with closed forms
	$(GO) test ./bench/recipes -run '^TestRecipes$$' -v -all -timeout 0 $(RECIPES)

# BASE is a revision; REPLAY takes flags, such as REPLAY='-full' or REPLAY='-only matrix/moe'.
.PHONY: replay
replay: ## compile a corpus with revision BASE and with this tree, and say which plans differ, and from which pass on
	GO=$(GO) bench/replay/run.sh "$(BASE)" $(REPLAY)

.PHONY: growth
growth: ## compile up to 1,536 layers and 256 microbatches, and fail where a pass takes more than n log n
	$(GO) test ./bench/growth -v -run '^TestGrowth$$' -long -timeout 0

.PHONY: minimalloc
minimalloc: ## place the memory problems *.csv of MINIMALLOC_DIR: NAME PEAK CAPACITY SECONDS
	@MINIMALLOC_DIR="$(MINIMALLOC_DIR)" $(GO) run ./bench/minimalloc

# PUBLISHED takes flags, such as PUBLISHED='-only 405B'.
.PHONY: search-published
search-published: ## compare published layouts with those that a search finds: bench/search/published.json, docs/search.md
	$(GO) run ./bench/search/published $(PUBLISHED)

# FORESIGHT_DATA is a folder with the tables of measured runs that docs/foresight.md lists.
.PHONY: foresight
foresight: ## compare predicted steps with published ones: bench/foresight.json, docs/foresight.md
	@FORESIGHT_DATA="$(FORESIGHT_DATA)" $(GO) run ./bench/foresight

# It takes libLLVM and a quiet host. OWN takes flags, such as OWN='-rounds 2 -steps 10 -write=false'.
.PHONY: foresight-own
foresight-own: ## compare predicted steps with those of plans on this host: bench/foresightown.json, docs/foresight.md
	$(GO) run ./bench/foresightown $(OWN)

.PHONY: bench
bench: ## run the benchmarks once each
	$(GO) test ./... -run '^$$' -bench . -benchtime 1x

# BLAS is the path of a library to compare with: libopenblas.so, libmkl_rt.so.
.PHONY: bench-gemm
bench-gemm: ## measure matrix products on THREADS (default 1) threads, and those of the library BLAS
	$(GO) run ./bench/gemm -threads $(or $(THREADS),1) -blas '$(BLAS)'

# What is handed out is in dist, and docs/releases.md says what it is. It is made by a module of its own, so
# that its libraries are none of ptc's. VERSION replaces the version that the sources have.
RELEASE := cd release && $(GO) run . $(if $(VERSION),-version $(VERSION))
EPOCH   := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null),0)
HOST    := $(shell $(GO) env GOARCH)

.PHONY: man
man: ## write the manual pages and the completions of shells to dist/man
	rm -rf dist/man
	SOURCE_DATE_EPOCH=$(EPOCH) $(GO) test ./cmd/ptc -run '^TestManual$$' -count 1 -manual '$(CURDIR)/dist/man'

.PHONY: release
release: man ## make archives, packages, wheels, the editor's extension and an image of a release, with checksums, in dist
	rm -f dist/ptc* dist/SHA256SUMS
	$(RELEASE) archives debs wheels vsix image sums
	cd release && $(GO) test ./check -run '^TestArchives$$' -count 1 -dist '$(CURDIR)/dist'

.PHONY: image
image: ## make a container image, for amd64 and arm64, in dist; look at it, and start what is in it
	$(RELEASE) image
	cd release && $(GO) test ./image && $(GO) test ./check -run '^TestImage$$' -count 1 -dist '$(CURDIR)/dist'

.PHONY: package-check
package-check: man ## make the Debian package, install it below a folder, run it, and remove it
	$(RELEASE) -arch $(HOST) debs
	cd release && $(GO) test ./deb && $(GO) test ./check -run '^TestPackage$$' -count 1 -dist '$(CURDIR)/dist'

# numpy, which the test of parameters reads them with, comes from the Python registry.
.PHONY: wheel
wheel: ## make the Python wheel of this machine, and train with it in an environment of its own
	$(RELEASE) -arch $(HOST) wheels
	cd release && $(GO) test ./wheel && $(GO) test ./check -run '^TestWheel$$' -count 1 -dist '$(CURDIR)/dist'

# The extension is tried without the editor, by Node.js, with a module vscode that records.
.PHONY: vsix
vsix: build ## make the extension for Visual Studio Code in dist, and hold a session of it with ptc lsp
	$(RELEASE) vsix
	cd release && $(GO) test ./vsix && $(GO) test ./check -run '^TestExtension$$' -count 1 -dist '$(CURDIR)/dist'

.PHONY: site
site: ## write the documents as HTML to dist/site, and check its links
	$(RELEASE) site
	cd release && $(GO) test ./site -count 1

.PHONY: dependencies-check
dependencies-check: ## ask for newer releases of what ptc is built on, and fail where one is a year behind
	$(GO) test -count 1 ./internal/arch -run '^TestDependenciesAreCurrent$$' -v -current

.PHONY: release-check
release-check: man ## test what makes releases, and that two of them have the same bytes
	cd release && $(GO) vet ./... && $(GO) test -count 1 . ./build ./deb ./image ./sbom ./site ./tree ./vsix ./wheel

.PHONY: clean
clean: ## remove what make built
	rm -rf bin dist
