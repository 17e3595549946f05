# SPDX-License-Identifier: Apache-2.0
# Links the tests of a folder into a program of FOLDER:PARTS parts, to share GoogleTest, templates and the library's
# objects. tests/unit/run starts the program once per source. ./configure --disable-unity makes a program per source.
unit_folders = base:1 boot:1 btl:2 coll:4 core:3 fault:1 forest:1 io:1 pml:2 rma:1 topo:1 tools:2 trace:1
tests_in = $(addsuffix .cc,$(filter tests/unit/$(1)/%,$(unit_tests)))
tests_base_sources = $(call tests_in,base)
tests_boot_sources = $(call tests_in,boot)
tests_btl_sources = $(call tests_in,btl)
tests_coll_sources = $(call tests_in,coll)
tests_core_sources = $(call tests_in,core)
tests_fault_sources = $(call tests_in,fault)
tests_forest_sources = $(call tests_in,forest)
tests_io_sources = $(call tests_in,io)
tests_pml_sources = $(call tests_in,pml)
tests_rma_sources = $(call tests_in,rma)
tests_topo_sources = $(call tests_in,topo)
tests_tools_sources = $(call tests_in,tools)
tests_trace_sources = $(call tests_in,trace)
unit_rooms = $(addprefix tests_,$(unit_folders))

# Programs of one source, on request: make tests/unit/base/params_test.
EXTRA_PROGRAMS += $(unit_tests)
unit_all = tests/unit/base/all_test tests/unit/boot/all_test tests/unit/btl/all_test tests/unit/coll/all_test \
  tests/unit/core/all_test tests/unit/fault/all_test tests/unit/forest/all_test tests/unit/io/all_test tests/unit/pml/all_test tests/unit/rma/all_test \
  tests/unit/topo/all_test tests/unit/tools/all_test tests/unit/trace/all_test
EXTRA_PROGRAMS += $(unit_all)
nodist_tests_unit_base_all_test_SOURCES = gen/unity/tests_base.1.cc
nodist_tests_unit_boot_all_test_SOURCES = gen/unity/tests_boot.1.cc
nodist_tests_unit_btl_all_test_SOURCES = gen/unity/tests_btl.1.cc gen/unity/tests_btl.2.cc
nodist_tests_unit_coll_all_test_SOURCES = gen/unity/tests_coll.1.cc gen/unity/tests_coll.2.cc \
  gen/unity/tests_coll.3.cc gen/unity/tests_coll.4.cc
nodist_tests_unit_core_all_test_SOURCES = gen/unity/tests_core.1.cc gen/unity/tests_core.2.cc gen/unity/tests_core.3.cc
nodist_tests_unit_fault_all_test_SOURCES = gen/unity/tests_fault.1.cc
nodist_tests_unit_forest_all_test_SOURCES = gen/unity/tests_forest.1.cc
nodist_tests_unit_io_all_test_SOURCES = gen/unity/tests_io.1.cc
nodist_tests_unit_pml_all_test_SOURCES = gen/unity/tests_pml.1.cc gen/unity/tests_pml.2.cc
nodist_tests_unit_rma_all_test_SOURCES = gen/unity/tests_rma.1.cc
nodist_tests_unit_topo_all_test_SOURCES = gen/unity/tests_topo.1.cc
nodist_tests_unit_tools_all_test_SOURCES = gen/unity/tests_tools.1.cc gen/unity/tests_tools.2.cc
nodist_tests_unit_trace_all_test_SOURCES = gen/unity/tests_trace.1.cc
tests_unit_tools_all_test_LDADD = libmpirun.la $(GTEST_LIBS)
gen/unity/tests_%.$(OBJEXT): CXXFLAGS = $(TEST_CXXFLAGS)

# Programs to build, and the program of each test as NAME:PROGRAM.
if UNITY
unit_programs = $(unit_all) $(unit_alone)
unit_places = $(foreach test,$(unit_tests),$(test):$(dir $(test))all_test) $(foreach test,$(unit_alone),$(test):$(test))
else
unit_programs = $(unit_tests) $(unit_alone)
unit_places = $(foreach test,$(unit_tests) $(unit_alone),$(test):$(test))
endif
