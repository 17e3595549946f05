# SPDX-License-Identifier: Apache-2.0
# Benchmarks: files of the tarball. `compare` compiles benchmarks with the mpicc of each measured library.
EXTRA_DIST += \
	tests/bench/README.md \
	tests/bench/bandwidth.c \
	tests/bench/bench.h \
	tests/bench/buckets.c \
	tests/bench/collectives.c \
	tests/bench/communicators.c \
	tests/bench/compare \
	tests/bench/comparison/README.md \
	tests/bench/comparison/data.py \
	tests/bench/comparison/history.py \
	tests/bench/comparison/library.py \
	tests/bench/comparison/machine.py \
	tests/bench/comparison/measure.py \
	tests/bench/comparison/pages.py \
	tests/bench/comparison/ratios.py \
	tests/bench/comparison/record.py \
	tests/bench/comparison/report.py \
	tests/bench/comparison/suite.py \
	tests/bench/comparison/svg.py \
	tests/bench/comparison/test \
	tests/bench/comparison/topics.py \
	tests/bench/empty.c \
	tests/bench/files.c \
	tests/bench/idle.c \
	tests/bench/latency.c \
	tests/bench/memory.c \
	tests/bench/message_rate.c \
	tests/bench/overlap.c \
	tests/bench/overlap_collectives.c \
	tests/bench/pack.c \
	tests/bench/pages \
	tests/bench/pairs.c \
	tests/bench/paths/README.md \
	tests/bench/paths/call.c \
	tests/bench/paths/run \
	tests/bench/paths/trace.c \
	tests/bench/polling.c \
	tests/bench/ring.c \
	tests/bench/rma.c \
	tests/bench/setup-peers \
	tests/bench/threads.c
