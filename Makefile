# Everything that a fresh machine with a Rust toolchain needs. See CONTRIBUTING.md for the rest.

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
export PATH := $(PATH):$(HOME)/.cargo/bin

PREFIX ?= /usr/local

.DEFAULT_GOAL := help
.PHONY: recordings decides cluster-faults cluster-pairs image layers fuzz kills layer-kills test-layers test-capture capture-cost situations marks run-file-cuts edits statistics agreement duckdb help demo demo-virtual check-virtual test test-all web packages install

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: packages web ## build, run labs/demo.toml on this machine's kernel, write demo.html (at most 10 minutes)
	$(CARGO) build --profile demo --locked --package seekwell
	scripts/demo $(TARGET)/demo/seekwell

demo-virtual: packages web ## compare ten filesystems on a modelled disk and CompactFlash card, without root; write demo-virtual.html (at most 10 minutes after the lab kernel is built)
	$(CARGO) build --profile demo --locked --package seekwell
	scripts/demo-virtual $(TARGET)/demo/seekwell

check-virtual: packages ## run that lab with every trial twice; fail at the first event that differs (20 minutes)
	$(CARGO) build --release --locked --package seekwell
	scripts/demo-virtual $(TARGET)/release/seekwell --check

# The compiler that `cargo xtask test` takes for everything, so that no crate is compiled by two.
test: export RUSTC_WORKSPACE_WRAPPER = clippy-driver
# What an incremental build keeps for the next one costs an eighth of a whole build.
test: export CARGO_INCREMENTAL = 0
test: packages web duckdb ## run every check and test, as root the privileged ones too; end with the counts
	$(CARGO) test --no-run --locked --workspace --target-dir $(TARGET) --test scripts --test exports
	$(TARGET)/debug/xtask test

test-all: ## the same with all cases of what make test samples
	SEEKWELL_ALL=1 $(MAKE) test

cluster-faults: packages ## run a lab on a Slurm of its own through 50 seeded faults, as root (SEEKWELL_FAULTS=50, SEEKWELL_FAULTS_SEED; 20 minutes)
	SEEKWELL_FAULTS=$(or $(SEEKWELL_FAULTS),50) $(CARGO) test --locked --package seekwell --test cluster random_faults -- --nocapture

cluster-pairs: packages ## time 2,000 trials on as many nodes as CPUs against plain runs, in alternating pairs, as root (PAIRS=2, TRIALS=2000; an hour on two quiet CPUs)
	$(CARGO) build --release --locked --package seekwell
	scripts/cluster-pairs $(TARGET)/release/seekwell $(or $(PAIRS),2) $(or $(TRIALS),2000)

layers: packages ## try every kind of layer with a filesystem in guests; rows of times and theory in target/layers-theory.csv; needs the lab kernel of the set layers (3 minutes)
	mkdir -p $(TARGET) && echo what,measured_us,theory_us > $(TARGET)/layers-theory.csv
	SEEKWELL_LAYERS=all SEEKWELL_LAYERS_THEORY=$(abspath $(TARGET))/layers-theory.csv \
		$(CARGO) test --locked --package seekwell-virtual --test layers -- --nocapture

recordings: packages ## replay eleven programs that were recorded in guests, and ten that were on this machine, against the programs, on 12 and 21 stacks, as root; rows in target/recordings.csv are kept (an hour); needs the lab kernel of the set layers
	$(CARGO) build --release --locked --package seekwell
	SEEKWELL_CAPTURE=$(abspath $(TARGET))/release/seekwell SEEKWELL_RECORDINGS=$(abspath $(TARGET))/recordings.csv \
		$(CARGO) test --locked --package seekwell-virtual --test recording -- --ignored --nocapture

fuzz: packages ## give every parser of foreign files mutated input for ten minutes (SEEKWELL_FUZZ_S=600), two at a time
	SEEKWELL_FUZZ_S=$(or $(SEEKWELL_FUZZ_S),600) SEEKWELL_FUZZ_SEED=$(or $(SEEKWELL_FUZZ_SEED),$(shell date +%s)) \
		$(CARGO) test --locked --package seekwell-bench --test fuzz -- --nocapture --test-threads=2

kills: packages ## kill -9 at 200 seeded pairs of a point and processes, as root (15 minutes)
	SEEKWELL_KILLS=0..200 $(CARGO) test --locked --package seekwell --test kill seeded -- --nocapture

layer-kills: packages ## the same at 50 pairs with ext4 on zram, plain and under an overlay in memory, as root (5 minutes)
	SEEKWELL_LAYER_KILLS=0..50 $(CARGO) test --locked --package seekwell --test kill layers_in_memory -- --nocapture

test-layers: ## the same with md and device-mapper in Debian's own kernel under QEMU, which must be installed (where it is emulated, 52 minutes with 20 of its 50 kills)
	CARGO="$(CARGO)" scripts/test-layers

test-capture: ## capture programs in Debian's own kernel under QEMU, which must be installed (10 minutes)
	CARGO="$(CARGO)" scripts/test-capture

capture-cost: packages ## measure what a capture costs, as root on a quiet machine; update the table of benches/runs/capture/cost.md (ROUNDS=10; ten minutes)
	$(CARGO) bench --locked --package seekwell-capture --bench cost -- $(or $(ROUNDS),10) load untar reads reads2 empty > benches/runs/capture/cost-memory.csv
	$(CARGO) bench --locked --package seekwell-capture --bench cost -- $(or $(ROUNDS),10) untar-disk sqlite-disk pgbench > benches/runs/capture/cost-disk.csv
	$(CARGO) bench --locked --package seekwell-capture --bench cost -- table

situations: packages ## try every hostile situation with its canary: outputs, inputs, names, arguments, nodes in use (10 minutes)
	SEEKWELL_SITUATIONS=all $(CARGO) test --locked --package seekwell --test situations -- --nocapture

marks: packages ## draft and run every lab of init, try, advise and labs/ at its smallest, as root and in guests; none may mark its own trials (an hour); needs a lab kernel
	SEEKWELL_MARKS=all $(CARGO) test --locked --package seekwell --test everyday marks -- --nocapture --test-threads=1

run-file-cuts: packages ## cut the power 1,000 times while a run file is written to ext4, xfs and btrfs, and resume each; needs a lab kernel (10 minutes)
	$(CARGO) run --locked --profile test --package seekwell-bench --example run_file_cuts -- 1000 > run-file-cuts.csv

edits: packages ## try five kinds of edits of every field of a run file; verify has to notice each (10 seconds)
	$(CARGO) test --locked --package seekwell-store edits -- --ignored --nocapture

duckdb: packages ## fetch DuckDB for the test that reads the Parquet tables (70 MB)
	@scripts/fetch-duckdb

web: packages ## build the interactive page of the HTML report; without Node.js reports use a plain page
	@scripts/build-web

statistics: ## measure how wide loss bounds are and how often they are missed under twenty noises (20 minutes); write benches/runs/statistics/bounds.csv
	$(CARGO) run --release --locked --package seekwell-bench --example noise -- 400 > benches/runs/statistics/bounds.csv
	$(CARGO) run --release --locked --package seekwell-bench --example noise -- 1000 carry-over > benches/runs/statistics/carry-over.csv

decides: ## as root on a quiet machine: twenty demos, ten tries, twenty pairs of equal runs (30 minutes)
	$(CARGO) build --release --locked --package seekwell --package seekwell-bench --bin seekwell --example time_to_verdict
	benches/runs/decides/measure.sh target/release/seekwell demo >benches/runs/decides/demo.csv
	target/release/examples/time_to_verdict target/release/seekwell 10 >benches/runs/decides/try.txt
	benches/runs/decides/measure.sh target/release/seekwell same >benches/runs/decides/same.csv

install: ## build, then install the program, man pages and completions below PREFIX (/usr/local)
	$(CARGO) build --release --locked --package seekwell
	install -D -m 755 $(TARGET)/release/seekwell $(DESTDIR)$(PREFIX)/bin/seekwell
	$(TARGET)/release/seekwell documents $(DESTDIR)$(PREFIX)/share

image: ## build the container image seekwell:VERSION, with podman or docker (IMAGE=NAME; 20 minutes)
	$(or $(CONTAINERS),$(shell command -v podman || command -v docker || echo podman)) build --file Containerfile \
		--tag $(or $(IMAGE),seekwell:$(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)) .

packages: ## install missing Debian packages (apt, with sudo when not root)
	@scripts/install-packages

agreement: packages ## compare our workloads with fio, bonnie++ and others, as root on a quiet machine (about 20 minutes); write docs/agreement.md
	$(CARGO) build --release --locked --package seekwell-bench --example agreement
	$(TARGET)/release/examples/agreement --out benches/runs/agreement --table docs/agreement.md
