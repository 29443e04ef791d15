# make help lists what there is. Everything that is made stays in bin/ and .tools/.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

GO       ?= go
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS  := -s -w -X main.version=$(VERSION)
FUZZTIME ?= 10s
TOOLS    := $(CURDIR)/.tools/bin

# Lint tools, each fixed to one version. A stamp carries the Go version too: a
# tool built by an older Go cannot read newer code.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ERRCHECK    := github.com/kisielk/errcheck@v1.30.0
ERRORLINT   := github.com/polyfloyd/go-errorlint@v1.8.0
EXHAUSTIVE  := github.com/nishanths/exhaustive/cmd/exhaustive@v0.17.1
LINTERS     := $(STATICCHECK) $(ERRCHECK) $(ERRORLINT) $(EXHAUSTIVE)
STAMP       := .tools/lint-$(shell { $(GO) env GOVERSION; echo $(LINTERS); } 2>/dev/null | cksum | cut -d' ' -f1)

.PHONY: help build setup lint test race fuzz demo cross clean check-tools bench bench-resolution bench-bias

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p; s/^#@ //p' $(firstword $(MAKEFILE_LIST)) | awk -F'\t' '{ printf "make %-17s %s\n", $$1, $$2 }'

build: ## bin/assay, static
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/assay ./cmd/assay

setup: check-tools $(STAMP) ## install what make test wants: lint tools into .tools/, git and a C compiler by apt-get

check-tools:
	@command -v $(GO) >/dev/null || { echo "setup: no go on PATH: install Go $$(sed -n 's/^go //p' go.mod) or newer" >&2; exit 1; }
	@missing=(); \
	command -v git >/dev/null || missing+=(git); \
	command -v cc >/dev/null || command -v gcc >/dev/null || missing+=(gcc libc6-dev); \
	if (( $${#missing[@]} )); then \
		command -v apt-get >/dev/null || { echo "setup: install $${missing[*]} first" >&2; exit 1; }; \
		as=; [ "$$(id -u)" = 0 ] || as=sudo; \
		$$as apt-get update -q && $$as apt-get install -q -y --no-install-recommends "$${missing[@]}"; \
	fi

$(STAMP):
	@mkdir -p $(TOOLS); rm -f .tools/lint-*
	@for tool in $(LINTERS); do echo "setup: $$tool"; GOFLAGS= GOBIN=$(TOOLS) $(GO) install $$tool; done
	@touch $@

# The examples are subjects, not code of assay: they are formatted and vetted
# only. A default does not make a switch over a closed set exhaustive.
lint: $(STAMP) ## gofmt, go vet, staticcheck, errcheck, errorlint, exhaustive
	@export GOFLAGS=; status=0; packages=$$($(GO) list ./... | grep -v '/examples'); \
	check() { echo "lint: $$1"; shift; "$$@" || status=1; }; \
	unformatted() { ! git ls-files -co --exclude-standard '*.go' | grep -v /testdata/ | xargs -r gofmt -l | grep .; }; \
	check gofmt unformatted; \
	check vet $(GO) vet ./...; \
	check staticcheck $(TOOLS)/staticcheck $$packages; \
	check errcheck $(TOOLS)/errcheck $$packages; \
	check errorlint $(TOOLS)/go-errorlint -errorf $$packages; \
	check exhaustive $(TOOLS)/exhaustive -p -typeonly '^assay/' $$packages; \
	exit $$status

test: ## every test whose toolchain is present, then lint; ASSAY_REQUIRE_ALL=1: a skip fails
	@lint=1; [ -e $(STAMP) ] || lint=0; \
	$(GO) test -json ./... | awk -v lint=$$lint -v all="$${ASSAY_REQUIRE_ALL:-}" -f .ci/summary.awk
	@[ ! -e $(STAMP) ] || $(MAKE) lint

race: ## the concurrent packages under the race detector
	CGO_ENABLED=1 $(GO) test -race ./internal/measure/... ./internal/store/... ./internal/cli/...

fuzz: ## every fuzz target for FUZZTIME (10s)
	@for package in $$(grep -rl --include='*_test.go' --exclude-dir=testdata '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $$package/*_test.go); do \
			echo "fuzz: $$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

demo: ## assay ab on the bundled example
	$(GO) run ./cmd/assay demo ab

cross: ## build for macOS and Windows
	@for os in darwin windows; do for arch in amd64 arm64; do \
		echo "cross: $$os/$$arch"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) build -trimpath -buildvcs=false ./...; \
	done; done

clean: ## remove bin/ and .tools/
	rm -rf bin .tools

bench: build ## how much of the wall time is inside samples, and how long starting up takes
	$(GO) run ./cmd/bench speed

bench-resolution: build ## error of assay's estimate beside that of the usual habits (half an hour)
	$(GO) run ./cmd/bench resolution

bench-bias: build ## planted changes: no verdict of the wrong sign
	$(GO) run ./cmd/bench bias
