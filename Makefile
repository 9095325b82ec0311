# make demo shows ctxfs, make test tests it. Both prepare the host (scripts/install-deps), as root or by sudo: they install the
# Debian packages that are missing, and let ordinary users open /dev/fuse.

GO ?= go
PREFIX ?= /usr/local
VERSION ?= $(shell scripts/version)
LDFLAGS = -ldflags "-X main.version=$(VERSION)"
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 20s
BENCH ?= .

.PHONY: agents build install uninstall deb deb-test install-deps demo test test-all race lint vulncheck fuzz fault powerloss crash model stress load bench bench-check bench-note bench-go bench-quality bench-dedup bench-sessions import-table ci clean

build:
	$(GO) build $(LDFLAGS) -o bin/ctxfs ./cmd/ctxfs

# The program, the helpers that mount(8) looks for, manual pages, completions, systemd units: DESTDIR and PREFIX as usual.
install: build
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' scripts/install

uninstall:
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' scripts/install --remove

# bin/ctxfs_VERSION_ARCH.deb, for every Debian of the last years: the program is static. ARCH is Debian's name, which is Go's for
# amd64, arm64, riscv64 and s390x.
ARCH ?= $(shell dpkg --print-architecture)
deb: build
	CGO_ENABLED=0 GOARCH=$(ARCH) $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/deb/$(ARCH)/ctxfs ./cmd/ctxfs
	@ARCH='$(ARCH)' VERSION='$(VERSION)' RUN=bin/ctxfs scripts/deb bin/deb/$(ARCH)/ctxfs bin

# What becomes of the package in a fresh Debian, under its own systemd: installed, used, upgraded under a writer, purged. Root's. The
# Debian takes some minutes, once, and stays in .tools/; `make test-all` does the same in an overlay of this host.
deb-test:
	root=$$(scripts/deb-root) && CTXFS_TEST_DEBROOT=$$root CTXFS_TEST_DISALLOW_SKIP=1 $(GO) test -count=1 -v -run 'TestDeb' ./tests

DEPS := fusermount3:fuse3 getfattr:attr jq:jq
install-deps:
	@scripts/install-deps $(DEPS)

demo: install-deps build
	@scripts/demo

# test is the short run (go test -short): it leaves out what testhost.Rare marks, and tries less where tests are random or run over
# real sessions. test-all, which make ci runs, leaves nothing out. tests/progress shows how far they are.
test: SHORT = -short
test: TAKES = 5 minutes
test-all: TAKES = 8 minutes
test test-all:
	@echo "make $@ takes about $(TAKES) on two processors, and 4 more the first time, to install, download and compile"
	@scripts/install-deps $(DEPS) rsync:rsync python3:python3 node:nodejs socat:socat less:less pgrep:procps
	@[ -d ../shared/data ] || echo "SKIP: ../shared/data is not here: tests over real sessions will skip"
	$(GO) run ./tests/progress $(GO) test $(SHORT) -count=1 -timeout=30m ./tests ./...

# The command line agents of other programs, pinned in tests/agents/package-lock.json, against a scripted model on loopback: their logs
# are followed, and exported sessions go on in Claude Code. test and test-all need none of them and leave this out.
agents: install-deps
	@scripts/install-deps npm:npm
	dir=$$(scripts/agents) && CTXFS_TEST_AGENTS=$$dir $(GO) test -count=1 -timeout 10m -v ./tests/agents

# Rooms in which nothing runs at the same time, as a test of the layers holds them to. The race detector has nothing to find there.
SEQUENTIAL := record context/bundle context/compile context/derive context/pack context/recall context/trace dedup frames importer quality swap

# The race detector needs cgo, and so a C compiler. Programs under it sleep a second at their end unless told otherwise.
# tests/fault traces the program without it. The longest come first. make lint has run go vet.
race: install-deps
	@scripts/install-deps gcc:gcc gcc:libc6-dev rsync:rsync
	CGO_ENABLED=1 GORACE=atexit_sleep_ms=10 $(GO) test -timeout 30m -vet=off -race -short ctxfs/tests $$($(GO) list ./... | grep -vxF -e ctxfs/tests $(SEQUENTIAL:%=-e ctxfs/internal/%) -e ctxfs/internal/context/redact -e ctxfs/tests/fault -e ctxfs/tests/agents -e ctxfs/tests/progress -e ctxfs/tests/testhost)
	CGO_ENABLED=1 $(GO) test -vet=off -race -run Concurrent ./internal/context/redact

lint:
	@unformatted=$$($$($(GO) env GOROOT)/bin/gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt -w $$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	@GO=$(GO) scripts/gosec

# Known vulnerabilities in what the program calls. GOVULNDB names the database, if it is not https://vuln.go.dev.
vulncheck:
	@GO=$(GO) scripts/vulncheck

# Every fuzz target for FUZZTIME, two or so at a time; FUZZ names some. 'make fuzz FUZZTIME=10m' is the long form: four hours.
FUZZ ?= .
fuzz:
	@GO=$(GO) nice scripts/fuzz $(FUZZTIME) '$(FUZZ)'

# Each system call on the store failed at each place that makes it, once and from then on: an hour or two. FAULT names some.
FAULT ?= .
fault: install-deps
	CTXFS_FAULT='$(FAULT)' $(GO) test -count=1 -timeout 6h -run TestEverySyscall -v ./tests/fault

# The power cut after every POWERth operation of a recorded work, with all that may be lost then: an hour for 2.
POWER ?= 2
powerloss: install-deps
	CTXFS_POWER=$(POWER) $(GO) test -count=1 -timeout 6h -run TestPowerLoss -v ./tests/fault

# Workers are killed under whatever goes on, KILLS times: no error, nothing lost, nothing twice. How long appends waited is shown.
KILLS ?= 1000
crash: install-deps
	CTXFS_TEST_KILLS=$(KILLS) $(GO) test -count=1 -timeout 2h -run 'TestWorkerKilled' -v ./tests

# 64 writers and 64 readers on 200 sessions for LOAD, and as long again on one processor.
LOAD ?= 10m
load: install-deps
	CTXFS_TEST_LOAD=$(LOAD) $(GO) test -count=1 -timeout 6h -run 'TestLoad' -v ./tests

# Logs, packs, fio and stress-ng on a mount for STRESS, with workers killed: what was written is there, memory is level.
STRESS ?= 1h
stress: install-deps
	@scripts/install-deps fio:fio stress-ng:stress-ng
	CTXFS_STRESS=$(STRESS) $(GO) test -count=1 -timeout 48h -run TestStress -v ./tests/posix

# Random operations on plain files, then on control files, for MODEL each, beside a model; workers are killed in between.
MODEL ?= 10m
model: install-deps
	CTXFS_MODEL_TIME=$(MODEL) $(GO) test -count=1 -timeout 24h -run TestModel -v ./tests/posix

# What ctxfs costs beside the file system below it, go-fuse's loopback example, and other file systems that pass requests on:
# docs/bench/ is written anew, in under ten minutes. It wants a quiet machine. Rows of the privileged mount are root's.
bench: install-deps build
	@scripts/install-deps bindfs:bindfs mergerfs:mergerfs || echo "SKIP: peers that are not here"
	$(GO) run ./internal/bench -out docs/bench

# Instructions of the parts that requests wait for, as valgrind counts them: the same on a busy machine. More of them than noted
# in docs/bench/instructions.tsv is a failure; bench-note notes them.
bench-check bench-note:
	@scripts/install-deps valgrind:valgrind
	$(GO) build -o bin/bench ./internal/bench
	bin/bench $(@:bench-%=%) docs/bench/instructions.tsv

# Benchmarks of single packages. BENCH names them.
bench-go:
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

# Tables of how good packs are, over the conversations in ../shared/data.
bench-quality:
	$(GO) run ./internal/quality/bench

# What real sessions take in the chunk store, beside zstd, restic and borg. It needs 4 GB in the temporary folder, and some
# minutes. A tool that cannot be installed is left out, and the table says so.
bench-dedup:
	@scripts/install-deps zstd:zstd restic:restic borg:borgbackup || echo "SKIP: rows of tools that are not here"
	$(GO) run ./internal/archive/bench

# What listing, finding and making sessions costs when one agent has up to 100,000, beside the file system of the temporary
# folder: some minutes. Rows on cold caches are root's. BENCH names rows.
bench-sessions: install-deps build
	$(GO) run ./internal/session/bench -rows '$(BENCH)'

# Each log in ../shared/data imported through a mount: records read and written, tokens of its packs (of the first session's,
# where a file holds several) at two budgets.
import-table: install-deps
	@echo "| format | session | records in | messages | events | pack@8000 | pack@32000 |"
	@echo "| --- | --- | --- | --- | --- | --- | --- |"
	@CTXFS_IMPORT_TABLE=1 $(GO) test -count=1 -run TestRealSessions -v ./tests | grep '^|'

# Tests come last, so that their summary ends what is printed. Those under the race detector mostly wait, which leaves the
# processors to the fuzz targets.
ci: export CTXFS_TEST_DISALLOW_SKIP = 1
ci: export GOFLAGS = -count=1
ci: install-deps
	@scripts/install-deps mkfs.ext4:e2fsprogs mkfs.btrfs:btrfs-progs systemd-analyze:systemd pgrep:procps npm:npm node:nodejs chromium:chromium \
		python3:python3 socat:socat groff:groff-base man:man-db
	$(MAKE) lint
	$(MAKE) vulncheck
	$(MAKE) -j 2 --output-sync=target FUZZTIME=20s fuzz race
	$(MAKE) bench-check
	$(MAKE) demo
	$(MAKE) agents
	$(MAKE) test-all

clean:
	rm -rf bin
