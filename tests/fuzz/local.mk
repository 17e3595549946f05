# SPDX-License-Identifier: Apache-2.0
# Fuzz targets: tests/fuzz/NAME from tests/fuzz/NAME.cc, only in a tree configured with clang and
# --enable-sanitizers=fuzzer-no-link,address,undefined.
fuzz_targets = $(patsubst $(srcdir)/%.cc,%,$(wildcard $(srcdir)/tests/fuzz/*.cc))
# Sources of rooms below src/api. mpirun's objects, without main(), bring further sources of these rooms.
fuzz_rooms = src/base src/topo src/boot src/cuda src/core btl pml coll gen/coll
fuzz_objects = $(filter $(fuzz_rooms:%=%/%.lo) $(patsubst %,gen/unity/%.%.lo,$(notdir $(fuzz_rooms))),$(libtern_la_OBJECTS))
$(fuzz_targets): fuzz_linked = $(fuzz_objects)
tests/fuzz/mpirun_options: fuzz_linked = $(libmpirun_la_OBJECTS)

fuzz-built: $(BUILT_SOURCES)
	$(MKDIR_P) tests/fuzz
	$(MAKE) $(fuzz_targets)
.PHONY: fuzz-built

$(fuzz_targets): tests/fuzz/%: $(srcdir)/tests/fuzz/%.cc $(wildcard $(srcdir)/tests/fuzz/*.hpp) $(fuzz_objects) $(libmpirun_la_OBJECTS)
	$(AM_V_CXXLD)$(LIBTOOL) $(AM_V_lt) --tag=CXX --mode=link $(CXX) -fsanitize=fuzzer $(AM_CPPFLAGS) $(CPPFLAGS) \
	  $(AM_CXXFLAGS) $(CXXFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -o $@ $< $(fuzz_linked) $(LIBS)
