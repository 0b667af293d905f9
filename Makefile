# Every command that a developer needs. `make` alone lists them.
# Go, git and make are enough; with the toolchains of other languages there are
# more guests to build and to test.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS   += --no-print-directory
.DEFAULT_GOAL := help

GO            ?= go
SEEDS         ?= 200
FROM          ?=
FAULT         ?= .
ROUNDS        ?= 12
SEED          ?= 0
SCENARIO      ?= .
VERSION       ?= 2.1.5
STORY         ?= .
RECORD        ?= .
# The address of the API of `make run`.
LISTEN        ?= 127.0.0.1:8680
# The commit of the release before, whose program `make upgrade` runs together with
# today's.
BEFORE        ?= 3f82cf43e41e622bfed6937b9e5b71d1abe9e3e6
EXAMPLES      ?= 20
BENCH         ?= .
BENCHTIME     ?= 500ms
BENCHFLAGS    ?=
GOLANGCI_LINT := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
DEADCODE      := $(GO) run golang.org/x/tools/cmd/deadcode@v0.50.0

BIN := build/wasmjobd
# The languages of `make guests`, each with a script in .ci/guests.
GUESTS ?= go wat assemblyscript rust c tinygo
# Nested modules, which `./...` does not reach.
NESTED := $(patsubst %/go.mod,%,$(wildcard abi/go/go.mod plugins/examples/*/go.mod test/*/guest/go.mod))
# Modules with only benchmarks, whose rivals must not become dependencies of the main
# module.
RIVALS := host/internal/sandbox/extism

.PHONY: help run build guests guests-go test conformance hostile faults upgrade interop record race fuzz-api sim sim-servers sim-long sim-mutants bench lint fmt generate deps check clean

help: ## list the targets
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: build guests-go ## build the server and the Go examples, then run jobs.toml until Ctrl-C: LISTEN=127.0.0.1:8680
	@WASMJOBD_ADMIN__LISTEN=$(LISTEN) exec $(BIN) serve --config jobs.toml

build: ## build the server into build/
	@mkdir -p build
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w' -o $(BIN) ./cmd/wasmjobd

guests: ## build examples and SDK guests into build/: GUESTS="go wat assemblyscript rust c tinygo"
	@.ci/guests/all.sh build $(GUESTS)

guests-go: ## build only the guests written in Go
	@mkdir -p build
	@.ci/guests/go.sh build

test: guests ## run every test, then list what was left out and what failed (WASMJOBD_STRICT=1: fail if anything was left out)
	@mkdir -p build
	@{ ok=0; cat build/guests-left-out.log; \
	   $(GO) test -v -shuffle=on ./... || ok=1; \
	   for m in $(NESTED); do (cd $$m && $(GO) test -v -shuffle=on ./...) || ok=1; done; \
	   exit $$ok; } 2>&1 | tee build/test.log | awk -f .ci/testlog.awk

conformance: build guests ## check this host, each SDK with the guest that it builds, and examples with their cases
	$(BIN) conformance
	$(BIN) conformance $$(ls build/conformance/*.wasm | grep -v -- -script.wasm)
	@for c in plugins/examples/*/cases.toml; do \
	  for m in $$(dirname $$c)/*.wasm build/$$(basename $$(dirname $$c)).wasm; do \
	    if [ -e $$m ]; then echo "$$m by $$c"; $(BIN) test $$m $$c; fi; \
	  done; \
	done

hostile: ## run hostile modules and occupiers together with a job, measure how late that is, also in a small memory group: MEMORY=all for each size
	$(GO) test ./cmd/wasmjobd -run '^Test(Hostile(Memory|Compile)?|Occupiers)$$' -count=1 -v -args -hostile -groups=$(or $(MEMORY),one)

# It needs root, for network namespaces.
faults: build ## kill, freeze and cut off servers on a real ZooKeeper: FAULT=kill ROUNDS=12 SEED=0
	cd test/faults/guest && GOOS=wasip1 GOARCH=wasm CGO_ENABLED=0 $(GO) build -buildmode=c-shared -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o $(CURDIR)/build/faults/guest.wasm .
	$(GO) test ./test/faults -run '^TestFaults$$/$(FAULT)' -count=1 -timeout=20m -v -args -faults -rounds=$(ROUNDS) -seed=$(SEED)

upgrade: build ## run servers of an earlier commit together with today's on a real ZooKeeper: STORY=rolling
	$(GO) test ./test/faults -run '^TestUpgrade$$/^all$$/$(STORY)' -count=1 -parallel=5 -timeout=10m -v -args -before=$(BEFORE) -build=$(CURDIR)/build/upgrade/$(BEFORE)

# Timed tests come before the scenarios, while nothing else runs.
interop: build ## run members of ElasticJob 2.1.5, or 3.0.4, together with servers, and check both: VERSION=3.0.4 SCENARIO=migration
	@mkdir -p build/interop
	cd test/faults/guest && GOOS=wasip1 GOARCH=wasm CGO_ENABLED=0 $(GO) build -buildmode=c-shared -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o $(CURDIR)/build/interop/guest.wasm .
	$(if $(filter .,$(SCENARIO)),$(GO) test ./test/interop -run '^TestReshard$$' -count=1 -timeout=10m -v -args -interop -version=$(VERSION))
	$(GO) test ./test/interop -run '^Test(Interop|Hazards$(if $(filter .2.1.5,$(SCENARIO)$(VERSION)),|Requests))$$/^all$$/($(SCENARIO))' -count=1 -parallel=6 -timeout=20m -v -args -interop -version=$(VERSION)

record: ## run members of ElasticJob 1.0.6, 1.1.1 and 2.0.5, and compare their writes with the recordings: RECORD=ej20/pause KEEP=1
	$(GO) test ./test/record -run '^Test(Answers|Record)$$/$(subst /,$$/,$(RECORD))' -count=1 -parallel=4 -timeout=1h -v -args -record $(if $(KEEP),-keep)

# Leaves out the test that builds projects in five languages and compiles the results: it
# takes minutes here and has few goroutines.
race: ## run the tests of the packages with goroutines under the race detector: LETTERS=a-l, of scripts
	$(GO) test -race -shuffle=on -timeout=30m -skip '^Test(NewProjects|Calibration.*|EstimatesOfGeneratedModules|FarEndsAreReached|FramesBeyondTheStack|GuestConformance)$$|Scripts$$/^(folder|[^$(or $(LETTERS),a-z)])' $$($(GO) list ./host/... ./cmd/... | grep -Ev '/(arch|config|definition|discovery|dump|layout(/.*)?|meter|protocol|scaffold|sim)$$')

fuzz-api: build ## send a server the requests that Schemathesis generates from docs/openapi.json, with each role and without: EXAMPLES=20 SEED=1
	@EXAMPLES=$(EXAMPLES) SEED=$(filter-out 0,$(SEED)) .ci/fuzz-api

# Without FROM it continues after the seeds that were simulated on the same sources, or
# starts with a seed drawn from the commit. Layouts other than 2.1 start with 0.
sim: ## simulate clusters on all cores: SEEDS=200 FROM=4711 LAYOUT=3
	@mkdir -p build
	$(GO) test ./host/internal/sim -run '^TestSeeds$$' -count=1 -timeout=0 -v -args -seeds=$(SEEDS) -from=$(FROM) $(if $(LAYOUT),-layout=$(LAYOUT),-ranges=$(CURDIR)/build/seeds)

sim-servers: ## simulate servers with real loops and sessions on a faulty registry: SEEDS=200 FROM=4711
	$(GO) test ./host/internal/runner -run '^TestFaultyRegistry$$' -count=1 -timeout=0 -args -seeds=$(SEEDS) -from=$(or $(FROM),0)

sim-long: ## simulate 10,000 clusters
	@$(MAKE) sim SEEDS=10000

sim-mutants: ## leave out rules, fences and pieces of functions in turn; a simulated cluster or a test must fail: ONLY=^begin
	$(GO) test ./host/internal/overlay -run '^TestMutants$$' -count=1 -timeout=0 -v -args -mutants -only '$(ONLY)'
	$(GO) test ./host/internal/sim -run '^TestMutants$$' -count=1 -timeout=0 -v -args -mutants -only '$(ONLY)' -share '$(SHARE)'

# One package at a time, so that they do not disturb each other's measurements.
bench: ## measure against the alternatives, in one run: BENCH=Cost BENCHTIME=500ms BENCHFLAGS=-short
	@mkdir -p build
	@.ci/guests/bench.sh build/bench
	@{ ok=0; run() { $(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -count 1 -timeout=0 -p 1 $(BENCHFLAGS) "$$@" || ok=1; }; \
	   run ./host/internal/schedule ./host/registry/embedded ./host/registry/zk ./host/internal/cluster ./host/internal/meter ./host/internal/sandbox ./host ./host/admin ./host/metrics ./host/trace/sqltrace ./cmd/wasmjobd; \
	   for m in $(RIVALS); do cd $(CURDIR)/$$m && run .; done; \
	   exit $$ok; } 2>&1 | awk -f .ci/bench.awk

lint: ## check formatting, vet, go.mod, the linters of .golangci.yml, and that each function is reachable
	@for m in . $(NESTED) $(RIVALS); do (cd $$m && $(GO) mod tidy -diff) || { echo "$$m/go.mod is not tidy; run go mod tidy there"; exit 1; }; done
	@bad=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); [ -z "$$bad" ] || { printf 'not formatted; run make fmt:\n%s\n' "$$bad"; exit 1; }
	$(GO) vet ./...
	$(GOLANGCI_LINT) run
	@dead=$$($(DEADCODE) -test ./...); [ -z "$$dead" ] || { printf 'no program and no test comes to these; take them out:\n%s\n' "$$dead"; exit 1; }
	@for m in $(NESTED); do \
	  echo "$$m"; \
	  (cd $$m && $(GO) vet ./... && GOOS=wasip1 GOARCH=wasm $(GO) vet ./... && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml); \
	done
	@for m in $(RIVALS); do \
	  echo "$$m"; \
	  (cd $$m && $(GO) vet ./... && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml); \
	done

fmt: ## format the Go sources
	gofmt -w $$(git ls-files -co --exclude-standard '*.go')

generate: ## rebuild generated files: docs/deps.txt, pages of docs made from code, the SDKs embedded in the program
	@mkdir -p build
	$(GO) generate ./abi ./cmd/wasmjobd ./cmd/wasmjobd/internal/scaffold ./host/admin ./host/config ./host/job ./host/internal/layout/v21 ./host/metrics ./host/reason ./host/internal/sim/golden ./host/internal/arch
	@$(MAKE) deps > build/deps.txt
	@mv build/deps.txt docs/deps.txt

# Pinned to one platform, so that the list does not depend on where it is made.
deps: ## print the packages that the server links, without the standard library
	@GOOS=linux GOARCH=amd64 CGO_ENABLED=0 $(GO) list -deps -f '{{if not .Standard}}{{.ImportPath}}{{end}}' ./cmd/wasmjobd | LC_ALL=C sort

check: ## run all of CI
	@.ci/run

clean: ## remove build output; a server's data/ stays
	rm -rf build
