# SPDX-License-Identifier: Apache-2.0
# Precompiled headers: README.md. The compiler reads NAME.hpp.gch in the build tree if its flags are equal, otherwise
# NAME.hpp in src. Tools have the library's flags, to share its header.
if PCH
PCH_LIBRARY = precompiled/library.hpp
PCH_TESTS = precompiled/tests.hpp
PCH = -include $(PCH_LIBRARY)
AM_CPPFLAGS += $(PCH)
unit_test_objects = $(addsuffix .$(OBJEXT),$(unit_tests) $(unit_alone)) \
  $(patsubst %.cc,%.$(OBJEXT),$(filter gen/unity/tests_%,$(units)))
$(unit_test_objects): PCH = -include $(PCH_TESTS)
src/tools/%.$(OBJEXT): PCH = -fPIC -include $(PCH_LIBRARY)
$(PCH_LIBRARY).gch $(PCH_TESTS).gch: PCH =
$(PCH_TESTS).gch: CXXFLAGS = $(TEST_CXXFLAGS)
CLEANFILES += $(PCH_LIBRARY).gch $(PCH_TESTS).gch

pch_compile = $(AM_V_GEN)$(MKDIR_P) precompiled && $(CXX) $(DEFS) $(DEFAULT_INCLUDES) $(INCLUDES) $(AM_CPPFLAGS) \
  $(CPPFLAGS) $(AM_CXXFLAGS) $(CXXFLAGS) -x c++-header -o $@.new
$(PCH_LIBRARY).gch: $(srcdir)/src/precompiled/library.hpp
	$(pch_compile) -fPIC $(srcdir)/src/precompiled/library.hpp && mv $@.new $@
$(PCH_TESTS).gch: $(srcdir)/src/precompiled/tests.hpp
	$(pch_compile) $(srcdir)/src/precompiled/tests.hpp && mv $@.new $@

$(libtern_la_OBJECTS) $(libmpi_abi_la_OBJECTS) $(libmpirun_la_OBJECTS) $(libterninfo_la_OBJECTS) $(libterntrace_la_OBJECTS) \
$(mpirun_OBJECTS) $(tern_info_OBJECTS) $(tern_coll_OBJECTS) $(tern_trace_OBJECTS): | $(PCH_LIBRARY).gch
$(unit_test_objects): | $(PCH_TESTS).gch
endif
