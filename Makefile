# `make rehearse` runs the program without an AWS account, and `make test` runs all tests. Both first install what they
# need. `make help` lists all targets.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Packages whose tests are quick to compile with the race detector: those that link neither Pulumi's generated SDKs nor
# the Kubernetes client, each of which takes minutes and gigabytes with it on a small machine.
HEAVY_IMPORTS := github.com/pulumi/pulumi-(aws|kubernetes|eks)/sdk|github.com/pulumi/pulumi/(sdk|pkg)/v3|k8s.io/client-go/(kubernetes|rest)
# One line per test package: its path, then everything that it imports, directly or not.
LIST_IMPORTS  := go list -test -f '{{if .ForTest}}{{.ForTest}} {{join .Deps " "}}{{end}}' ./...
ALL   = $(LIST_IMPORTS) | cut -d' ' -f1 | sort -u
HEAVY = $(LIST_IMPORTS) | grep -E '$(HEAVY_IMPORTS)' | cut -d' ' -f1 | sort -u
LIGHT = comm -23 <($(ALL)) <($(HEAVY))

# Time limit of a package's tests. Some run whole rehearsals.
TEST_TIMEOUT := 45m

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: go
go:
	@command -v go >/dev/null || { echo 'missing: Go 1.26 or later, https://go.dev/dl' >&2; exit 1; }

.PHONY: setup
setup: go ## build or install what a rehearsal needs, once per version, into a cache outside the checkout
	@go run ./tools/setup

# $(call timed,WHAT,COMMAND) says what is built and how long it took: the first time, Pulumi's SDKs take minutes.
timed = @printf 'build: %s: started\n' '$(1)'; began=$$SECONDS; $(2); printf 'build: %s: done in %ss\n' '$(1)' "$$((SECONDS - began))"

.PHONY: build
build: setup ## build this project's own binaries: raytrain, raytrain-cluster and raytrain-rehearse, the emulated AWS provider, the training job's provider
	$(call timed,bin/raytrain,go build -o bin/raytrain ./cmd/raytrain)
	$(call timed,bin/raytrain-cluster,go build -o bin/raytrain-cluster ./cmd/raytrain-cluster)
	$(call timed,bin/raytrain-rehearse,go build -o bin/raytrain-rehearse ./rehearsal/cmd/raytrain-rehearse)
	$(call timed,bin/pulumi-resource-aws,go build -o bin/pulumi-resource-aws ./rehearsal/cmd/pulumi-resource-aws)
	$(call timed,provider/pulumi-resource-raytrain,go build -ldflags "-X main.builtFrom=$$(go run ./provider/freshness/print)" -o provider/pulumi-resource-raytrain ./provider)

.PHONY: judges
judges: go ## install what only tests use: cfn-lint, checkov, parliament, moto, zizmor, ruff, mypy, pytest, and transformers
	@go run ./tools/setup -only cloud-judges,checkov,python-checks,transformers

.PHONY: rehearse
rehearse: build ## the whole cycle on an emulated AWS account: preview, up, verdict, destroy
	bin/raytrain rehearse

.PHONY: test
test: build judges ## every test, as CI runs it
	go vet ./...
	go test -race -timeout $(TEST_TIMEOUT) $$($(LIGHT))
	# One package at a time: each of these may run a cluster. Never from Go's cache, which cannot see that a tool changed.
	go test -count 1 -p 1 -timeout $(TEST_TIMEOUT) $$($(HEAVY))

.PHONY: test-quick
test-quick: setup judges ## only the tests that start no cluster and no engine, without the race detector
	go test -timeout $(TEST_TIMEOUT) $$($(LIGHT))

.PHONY: lint
lint: go ## golangci-lint with the list in .golangci.yml
	@go run ./tools/setup -only golangci-lint
	bin/golangci-lint run ./...

.PHONY: golden
golden: build ## regenerate the golden files; review the diff before you commit it
	go test $$(grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -n 1 dirname | sort -u) -update

.PHONY: fuzz
fuzz: go ## run the fuzz tests, for FUZZTIME (default 1m) each
	for dir in nccl nccl/internal/record; do \
		for target in $$(grep -oh '^func Fuzz[A-Za-z0-9]*' $$dir/*_test.go | cut -c 6-); do \
			go test ./$$dir -run '^$$' -fuzz "^$$target\$$" -fuzztime $${FUZZTIME:-1m} || exit 1; \
		done; \
	done

.PHONY: mutation
mutation: go ## run mutation tests of the verdict and list surviving mutants
	go build -C tools/mutation -o $(CURDIR)/bin/gremlins github.com/go-gremlins/gremlins/cmd/gremlins
	bin/gremlins unleash --timeout-coefficient 20 ./nccl/internal/verdict

.PHONY: breaks
breaks: build ## break the program in every known way, one at a time, and check that its tests and a rehearsal fail
	go test ./rehearsal/breaks -count 1 -v -timeout 2h -breaks.all

.PHONY: drill
drill: setup ## the built-in training on this host with gloo: every case and every experiment; make test runs one case
	go test ./drill -count 1 -v -drill.all
	go test ./benchmark -count 1 -v -benchmark.all

.PHONY: kills
kills: build ## kill and interrupt updates at ten points: recover, up and destroy must succeed
	go test ./rehearsal/tests -count 1 -v -timeout 1h -run TestKilledUpdatesAreRecovered -kills.all

.PHONY: bench-verdict
bench-verdict: go ## compare the speed of raytrain verdict with grep
	go run ./nccl/bench

.PHONY: bench-collect
bench-collect: go ## measure the collection and the verdict of a job of 4,096 ranks on 512 nodes; needs 5 GiB of disk
	go run ./provider/evidence/bench

.PHONY: clean-cache
clean-cache: go ## remove the cache of the toolchain, for all checkouts
	@go run ./tools/setup -clean
