# SPDX-License-Identifier: Apache-2.0
# Fuzz targets: tests/fuzz/NAME.cc becomes tests/fuzz/NAME, in a tree that was configured with clang and
# --enable-sanitizers=fuzzer-no-link,address,undefined. Nothing of it is built otherwise.
fuzz_targets = $(patsubst $(srcdir)/%.cc,%,$(wildcard $(srcdir)/tests/fuzz/*.cc))
# The rooms below the collectives, and mpirun without its main().
fuzz_objects = $(sort $(libmpirun_la_OBJECTS) \
  $(filter src/base/%.lo src/topo/%.lo src/boot/%.lo src/core/%.lo btl/%.lo pml/%.lo,$(libtern_la_OBJECTS)))

fuzz-built: $(BUILT_SOURCES)
	$(MKDIR_P) tests/fuzz
	$(MAKE) $(fuzz_targets)
.PHONY: fuzz-built

$(fuzz_targets): tests/fuzz/%: $(srcdir)/tests/fuzz/%.cc $(wildcard $(srcdir)/tests/fuzz/*.hpp) $(fuzz_objects)
	$(AM_V_CXXLD)$(LIBTOOL) $(AM_V_lt) --tag=CXX --mode=link $(CXX) -fsanitize=fuzzer $(AM_CPPFLAGS) $(CPPFLAGS) \
	  $(AM_CXXFLAGS) $(CXXFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -o $@ $< $(fuzz_objects) $(LIBS)
