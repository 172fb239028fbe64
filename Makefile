# conch: make help

SHELL := /bin/sh
.DEFAULT_GOAL := build

# A tree without git (a source archive) is "dev"; nothing here may fail for it.
VERSION ?= $(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null)
LDFLAGS := -X main.version=$(VERSION) -X main.commit=$(COMMIT)

# The long run multiplies the seeds and repeats everything, so that what fails
# one time in a thousand is met at night and not by a user.
NIGHTLY_COUNT ?= 3

# Two seconds each, more on a busy machine. The library that turns the clock of
# the database is compiled, hence gcc.sh.
CHAOS_FAULTS ?= 150
NIGHTLY_FAULTS ?= 1000
NIGHTLY_SEQUENCER_FAULTS ?= 200
# So many hostile goals in Prolog, each with the whole budget of a goal.
NIGHTLY_BOMBS ?= 100000
NIGHTLY_LOG_FAULTS ?= 1h

# How long five organisations pay each other in a storm of faults. It judges how long users wait, so that nothing runs beside it.
STORM         ?= 2m
NIGHTLY_STORM ?= 10m
# The liar has many lies, and coordinates each fifth range: so long until most of them are told.
NIGHTLY_LIAR  ?= 20m

# Inputs for each fuzz test. Their corpora are tests too, and run with all others.
FUZZ_RUNS ?= 300000

# The node is a program of its own, whose code is not ours. It is the one package that
# is not tested under the race detector, which would compile all of go-ethereum once
# more; chain/evm tests it as a process. Here it is built with cgo where there is a C
# compiler: signatures are recovered several times as fast then, which benchmarks see.
# Tests build it as lint sees it.
DEVNODE  := ./chain/evm/cmd/conch-devnode
PACKAGES  = $$(go list work | grep -v conch-devnode)

# Simulated worlds and pure machines have one goroutine and nothing to race with: by day they run without the race detector,
# which makes them six to seventeen times slower; make nightly has them with it too.
MACHINES := ./schedule/zone ./schedule/internal/core ./schedule/internal/worker ./alerts/internal/core ./alerts/internal/watch ./chain/internal/ancestry ./chain/substrate/extrinsic ./chain/substrate/internal/chopstickstest ./chain/substrate/key ./chain/substrate/metadata ./chain/substrate/scale ./chain/substrate/ss58 ./cmd/conch/internal/condition/... ./election/internal/core ./gossip/internal/hint ./internal/arch ./pending/internal/wearmodel ./sequencer/internal/book ./sequencer/internal/coordinator ./sequencer/internal/core ./sequencer/internal/endorser ./sequencer/internal/ranking ./sequencer/internal/sender ./sequencer/internal/wire ./txlog/internal/courier \
	./sequencer/ledger ./sequencer/notes ./txlog/internal/follower ./txlog/internal/member ./txlog/quorum/internal/core ./txlog/quorum/internal/majority ./txlog/prolog/internal/... ./txlog/txlogtest
# Whole nodes in virtual time: what each of them does beside itself, make test-whole looks at with the race detector.
BUBBLES  := ./chunksync ./gossip ./pending ./sequencer ./sequencer/sequencertest ./txlog/kv ./txlog/quorum ./txlog/quorum/disk
# The dashboard is looked at in a browser, of which the race detector knows nothing.
WORLDS   := ./internal/world ./internal/world/site ./internal/world/story ./alerts/internal/firehouse ./cmd/conch/internal/lab/sim/... ./election/internal/electorate ./gossip/internal/overlay ./gossip/internal/crowd ./schedule/internal/belfry ./sequencer/internal/committee ./cmd/conch/internal/lab ./cmd/conch/internal/ui \
	./txlog/quorum/internal/logworld $(MACHINES) $(if $(CONCH_WHOLE),,$(BUBBLES))
OTHERS   = $$(go list work | grep -v conch-devnode | grep -v -x -F "$$(go list $(WORLDS))")

# A program with the race detector otherwise sleeps for a second before it ends, and so does
# every package's test.
export GORACE ?= atexit_sleep_ms=50

# The curves and lattices of cryptography calculate with numbers that nobody else sees, and the race detector makes them ten
# times as slow, which was a third of some packages. So make test compiles these alone without it; what calls them has it, and
# so have all programs that a test builds. make nightly has them with it too.
CURVES := edwards25519/... nistec/... mlkem bigmod
RACE    = $(DAY) $(CURVES:%=-gcflags=crypto/internal/fips140/%=-race=false)" go test -race -vet=off

# By day the compiler, and it alone, collects its garbage less often; what a test builds is compiled so too. make lint vets the
# tests. What has no race detector is compiled without cgo, as make lint and package proctest do it, so that they share it: the
# C code below go-ethereum, which stores nothing here, takes a minute to compile.
DAY     = GOFLAGS="$$GOFLAGS '-toolexec=env GOGC=400'
UNRACED = $(DAY)" CGO_ENABLED=0 go test -vet=off

# For one package.
LIMIT   = $(if $(CONCH_WHOLE),30m,10m)

# What initdb makes and the programs under test, once for all packages.
SHARED = set -e; CONCH_TEST_SHARED=$$(mktemp -d); export CONCH_TEST_SHARED; chmod 755 "$$CONCH_TEST_SHARED"; \
	trap 'rm -rf "$$CONCH_TEST_SHARED"' EXIT; trap 'exit 1' INT TERM HUP

.PHONY: build build-noevm help contract proto fuzz demo chaos test test-raced test-stage test-tools test-unraced test-whole test-fast model page lint bench bench-peers bench-docs cover nightly fmt release storm storm-liar

build: ## bin/conch and its laboratory, bin/conch-lab, with version and commit stamped in, and bin/conch-devnode
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/conch ./cmd/conch
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/conch-lab ./cmd/conch/conch-lab
	go build -ldflags '-s -w' -o bin/conch-devnode $(DEVNODE)

build-noevm: ## bin/conch-noevm: conch without transactions, and so without go-ethereum
	go build -tags noevm -trimpath -ldflags '$(LDFLAGS)' -o bin/conch-noevm ./cmd/conch

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' Makefile

demo: build ## builds conch, conch-lab and conch-devnode and runs the demo on a private Postgres and a private chain
	@scripts/postgres.sh
	bin/conch demo $(DEMO)

chaos: build ## hurts real processes and their database for some minutes, and judges what they did
	@scripts/postgres.sh
	@scripts/gcc.sh
	bin/conch-lab chaos --faults $(CHAOS_FAULTS) --duration 9m $(CHAOS)

test: test-raced test-unraced test-stage ## the tests of all modules, with -race where there is a race to find, and a slice of the models
	@scripts/model.sh day

test-tools:
	@scripts/gcc.sh
	@scripts/postgres.sh
	@scripts/proxies.sh
	@scripts/python.sh

# The dashboard is tested in a browser, and built again from its sources, where both can be installed.
PAGE = CONCH_UI_TOOLS="$$(scripts/ui.sh tools)" CONCH_CHROMIUM="$$(scripts/ui.sh browser)"

# More packages at once than processors: most of their time they wait for servers, blocks and leases.
test-raced: test-tools
	$(SHARED); CONCH_ANVIL="$$(scripts/anvil.sh)" CONCH_SOLC="$$(scripts/solc.sh)" $(RACE) -p 3 -timeout $(LIMIT) $(OTHERS)

test-unraced: test-tools
	$(SHARED); CONCH_METADATA="$$(scripts/metadata.sh)" CONCH_CHOPSTICKS="$$(scripts/chopsticks.sh)" $(PAGE) $(UNRACED) -timeout $(LIMIT) $(WORLDS)

# bench/peers is outside go.work, and its libraries are large: here only what judges, which needs
# none of them; make nightly compiles the rest.
test-stage: test-tools
	cd bench/peers && GOWORK=off $(RACE) -timeout 5m ./stage

test-whole: ## every test, also those that make test leaves out because it runs others of their kind
	CONCH_WHOLE=1 $(MAKE) test model

# Whatever starts no process, no server and no crowd of nodes, with few seeds. With the race detector it would cost four times as much: make
# test has it.
test-fast: ## the inner loop, within a minute: no processes, no Postgres, few seeds, no race detector
	go test -short -timeout 5m $$(go list work | grep -v -e conch-devnode -e '/cmd/conch$$' -e /internal/keeper -e /internal/lab -e /chain/evm -e /sequencer/evm -e /postmaster -e /proctest -e /pgstore -e /pgmint -e /pgops -e /service/logs) ./cmd/conch/internal/lab/sim/...

model: ## the models of the election and of reading a chain, every state; and each rule removed, to see it fail
	@scripts/model.sh

lint: ## gofmt, go vet, builds for other systems, golangci-lint
	@scripts/lint.sh

bench: ## the benchmarks
	@scripts/postgres.sh
	go test -run '^$$' -bench . -benchmem $(PACKAGES)

bench-peers: build ## the same faults for conch and its peers, about twelve minutes
	@scripts/postgres.sh
	bench/peers/build.sh
	bin/peers --conch bin/conch --markdown

bench-docs: build ## the tables of bench/measured.md, about an hour
	@scripts/postgres.sh
	bench/peers/build.sh
	scripts/bench-docs.sh

cover: ## coverage over all modules: cover.out, cover.html, and the sum
	@scripts/postgres.sh
	$(SHARED); go test -coverprofile cover.out -coverpkg github.com/conchhq/conch/... $(PACKAGES)
	go tool cover -html cover.out -o cover.html
	@go tool cover -func cover.out | tail -n 1

nightly: build ## the long run: the models' large bounds, more seeds (CONCH_NIGHTLY=1), several times, fuzz tests, a thousand faults
	@scripts/gcc.sh
	@scripts/postgres.sh
	@scripts/proxies.sh
	@scripts/python.sh
	@scripts/model.sh full
	$(SHARED); CONCH_ANVIL="$$(scripts/anvil.sh)" CONCH_CHOPSTICKS="$$(scripts/chopsticks.sh)" CONCH_SOLC="$$(scripts/solc.sh)" CONCH_CLIENTS="$$(scripts/clients.sh)" CONCH_METADATA="$$(scripts/metadata.sh)" CONCH_NIGHTLY=1 go test -race -count $(NIGHTLY_COUNT) -timeout 4h $(PACKAGES)
	CONCH_NIGHTLY=1 go test -timeout 4h ./cmd/conch/internal/lab ./txlog/quorum/internal/logworld
	$(SHARED); CONCH_LOG_FAULTS=$(NIGHTLY_LOG_FAULTS) go test -count 1 -timeout 4h -v -run TestALogUnderEveryFault ./cmd/conch
	CONCH_NIGHTLY=1 CONCH_BOMBS=$(NIGHTLY_BOMBS) go test -count 1 -timeout 8h -v -run TestMutatedBombs ./txlog/prolog
	@scripts/fuzz.sh $(FUZZ_RUNS)
	GOWORK=off go -C bench/peers vet ./...
	GOWORK=off go -C bench/peers test -timeout 10m ./...
	bin/conch-lab chaos --faults $(NIGHTLY_FAULTS) --keep-going
	bin/conch-lab chaos --sequencer --faults $(NIGHTLY_SEQUENCER_FAULTS) --intents 2000
	$(MAKE) storm STORM=$(NIGHTLY_STORM)
	$(MAKE) storm-liar STORM=$(NIGHTLY_LIAR)

storm: ## five organisations that pay each other under faults, judged from the chain: STORM=2m, CONCH_STORM_SEED=7 for the same faults
	@scripts/postgres.sh
	CONCH_STORM=$(STORM) go test -count 1 -timeout 2h -run '^TestAStormPasses$$' -v ./cmd/conch

storm-liar: ## the same storm, while one of the five tells one lie after the other
	@scripts/postgres.sh
	CONCH_STORM=$(STORM) go test -count 1 -timeout 2h -run '^TestAStormWithALiar$$' -v ./cmd/conch

contract: ## the bytes of the ledger contract from its source, sequencer/evm/solidity/Ledger.sol; needs Node.js and npm
	@dir=$$(scripts/solc.sh); test -n "$$dir" && node sequencer/evm/solidity/compile.js "$$dir" sequencer/evm/solidity

proto: ## the Go code of the .proto files, the messages between nodes; needs protoc
	@scripts/proto.sh

page: ## the dashboard from its sources, cmd/conch/internal/ui/source; needs Node.js and npm
	@scripts/ui.sh build

fuzz: ## every fuzz test, FUZZ_RUNS (300000) inputs each; a finding is a new file in testdata/fuzz
	@scripts/fuzz.sh $(FUZZ_RUNS)

fmt: ## formats every Go file
	gofmt -w $$(git ls-files --cached --others --exclude-standard '*.go' | while read -r f; do [ -f "$$f" ] && echo "$$f"; done)

release: ## the tags of a release, not pushed: make release VERSION=v0.1.0 (RELEASE=--dry-run leaves none)
	@scripts/release.sh $(RELEASE) $(VERSION)
