# What a fresh machine with a Rust toolchain needs. For everything else see CONTRIBUTING.md.

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
export PATH := $(PATH):$(HOME)/.cargo/bin

PREFIX ?= /usr/local

.DEFAULT_GOAL := help
.PHONY: statistics agreement duckdb help demo demo-virtual check-virtual test web power-cuts packages install

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: packages web ## build, run labs/demo.toml on this machine's kernel, write demo.html (at most 10 minutes)
	$(CARGO) build --release --locked --package seekwell
	scripts/demo $(TARGET)/release/seekwell

demo-virtual: packages web ## ten filesystems on a modelled disk and a modelled CompactFlash card, without root: demo-virtual.html (at most 10 minutes after the lab kernel is built)
	$(CARGO) build --release --locked --package seekwell
	scripts/demo-virtual $(TARGET)/release/seekwell

check-virtual: packages ## the same lab with every trial run twice: fails at the first event that differs (20 minutes)
	$(CARGO) build --release --locked --package seekwell
	scripts/demo-virtual $(TARGET)/release/seekwell --check

test: packages web duckdb ## every check and every test; as root the privileged ones too; ends with the counts
	$(CARGO) xtask test

power-cuts: packages ## ext4, xfs, btrfs, and ext4 with its journal on a stick, through 1,000 power cuts each on modelled disks; needs a lab kernel (about 20 minutes)
	$(CARGO) bench --locked --package seekwell-virtual --bench power_cuts -- 1000 > power-cuts.csv

duckdb: packages ## fetch DuckDB, with which a test reads the Parquet tables (70 MB)
	@scripts/fetch-duckdb

web: packages ## build the page of the HTML report, when Node.js is there (without: a plain page)
	@scripts/build-web

statistics: ## measure what the verdicts keep of their promises (15 minutes), renew the table of docs/statistics.md
	$(CARGO) run --release --locked --package seekwell-bench --example statistics -- whole

install: ## build; install the program, man pages and completions below PREFIX (/usr/local)
	$(CARGO) build --release --locked --package seekwell
	install -D -m 755 $(TARGET)/release/seekwell $(DESTDIR)$(PREFIX)/bin/seekwell
	$(TARGET)/release/seekwell documents $(DESTDIR)$(PREFIX)/share

packages: ## install the Debian packages that are missing (apt, with sudo when not root)
	@scripts/install-packages

agreement: packages ## our workloads beside their originals, as root on a quiet machine (about 20 minutes): docs/agreement.md
	$(CARGO) build --release --locked --package seekwell-bench --example agreement
	$(TARGET)/release/examples/agreement --out benches/runs/agreement --table docs/agreement.md
