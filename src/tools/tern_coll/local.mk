# SPDX-License-Identifier: Apache-2.0
# tern_coll: schedules of collectives on the command line.
bin_PROGRAMS += tern_coll
tern_coll_SOURCES = \
  src/tools/tern_coll/bound.cc \
  src/tools/tern_coll/commands.hpp \
  src/tools/tern_coll/draw.cc \
  src/tools/tern_coll/exchange.cc \
  src/tools/tern_coll/gpu.cc src/tools/tern_coll/gpu.hpp \
  src/tools/tern_coll/learnt.cc \
  src/tools/tern_coll/list.cc \
  src/tools/tern_coll/main.cc \
  src/tools/tern_coll/mpi_library.cc src/tools/tern_coll/mpi_library.hpp \
  src/tools/tern_coll/options.cc src/tools/tern_coll/options.hpp \
  src/tools/tern_coll/search.cc \
  src/tools/tern_coll/simulate.cc \
  src/tools/tern_coll/stopwatch.cc src/tools/tern_coll/stopwatch.hpp \
  src/tools/tern_coll/topology.cc \
  src/tools/tern_coll/tune.cc \
  src/tools/tern_coll/validate.cc \
  src/tools/tern_coll/verify.cc
tern_coll_LDADD = libtern.la
tern_coll_LDFLAGS = $(AM_LDFLAGS) -Wl,--gc-sections -Wc,-static-libstdc++ -Wc,-static-libgcc
dist_man_MANS += man/man1/tern_coll.1
