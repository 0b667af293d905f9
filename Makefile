# Every command that a developer needs. `make` alone lists them.
# Nothing here needs more than Go, git and make; all else is fetched by Go.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS   += --no-print-directory
.DEFAULT_GOAL := help

GO            ?= go
SEEDS         ?= 200
FROM          ?= 0
BENCHTIME     ?= 500ms
GOLANGCI_LINT := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

BIN := build/wasmjobd
# Guests that the Go toolchain builds alone: plugins/examples/hello-go gives build/hello-go.wasm.
GUESTS := $(patsubst plugins/examples/%/main.go,%,$(wildcard plugins/examples/*-go/main.go))
# Modules beside the main one: `./...` does not reach into them.
NESTED := $(patsubst %/go.mod,%,$(wildcard abi/go/go.mod plugins/examples/*/go.mod))

.PHONY: help run build guests test race sim sim-long sim-mutants bench lint fmt generate deps check clean

help: ## list the targets
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: build guests ## build the server and the Go examples, then run jobs.toml until Ctrl-C
	@exec $(BIN) serve --config jobs.toml

build: ## build the server into build/
	@mkdir -p build
	CGO_ENABLED=0 $(GO) build -o $(BIN) ./cmd/wasmjobd

guests: ## build the example jobs written in Go into build/*.wasm
	@mkdir -p build
	@for g in $(GUESTS); do \
	  echo "build/$$g.wasm"; \
	  (cd plugins/examples/$$g && GOOS=wasip1 GOARCH=wasm CGO_ENABLED=0 $(GO) build -buildmode=c-shared \
	    -trimpath -buildvcs=false -ldflags='-s -w -buildid=' -o ../../../build/$$g.wasm .); \
	done

test: guests ## run every test, then say what was left out (WASMJOBD_STRICT=1: leaving out is failing)
	@mkdir -p build
	@{ ok=0; \
	   $(GO) test -v -shuffle=on ./... || ok=1; \
	   for m in $(NESTED); do (cd $$m && $(GO) test -v -shuffle=on ./...) || ok=1; done; \
	   exit $$ok; } 2>&1 | tee build/test.log | awk -f .ci/testlog.awk

race: ## run the tests of the packages with goroutines under the race detector
	$(GO) test -race -shuffle=on $$($(GO) list ./host/... ./cmd/... | grep -Ev '/(arch|sim|protocol|layout)$$')

sim: ## simulate clusters: SEEDS=200 FROM=0
	$(GO) test ./host/internal/sim -run '^TestSeeds$$' -count=1 -timeout=0 -v -args -seeds=$(SEEDS) -from=$(FROM)

sim-long: ## simulate 10,000 clusters
	@$(MAKE) sim SEEDS=10000

sim-mutants: ## take each rule out in turn: a simulated cluster must notice
	$(GO) test ./host/internal/sim -run '^TestMutants$$' -count=1 -timeout=0 -v -args -mutants

bench: ## measure against robfig/cron, hashicorp/cronexpr and bbolt, in one run
	@$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) -count 1 -timeout=0 $$($(GO) list ./host/internal/schedule ./host/registry/embedded) | awk -f .ci/bench.awk

lint: ## check formatting, vet, and the linters of .golangci.yml
	@bad=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); [ -z "$$bad" ] || { printf 'not formatted; run make fmt:\n%s\n' "$$bad"; exit 1; }
	$(GO) vet ./...
	$(GOLANGCI_LINT) run
	@for m in $(NESTED); do \
	  echo "$$m"; \
	  (cd $$m && $(GO) vet ./... && GOOS=wasip1 GOARCH=wasm $(GO) vet ./... && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml); \
	done

fmt: ## format the Go sources
	gofmt -w $$(git ls-files -co --exclude-standard '*.go')

generate: ## rebuild what is generated: docs/deps.txt
	@mkdir -p build
	@$(MAKE) deps > build/deps.txt
	@mv build/deps.txt docs/deps.txt

# Pinned to one platform: the list must not depend on who makes it.
deps: ## print the packages that the server links, the standard library apart
	@GOOS=linux GOARCH=amd64 CGO_ENABLED=0 $(GO) list -deps -f '{{if not .Standard}}{{.ImportPath}}{{end}}' ./cmd/wasmjobd | LC_ALL=C sort

check: ## all that CI runs
	@.ci/run

clean: ## remove what was built; data/ of a server stays
	rm -rf build
