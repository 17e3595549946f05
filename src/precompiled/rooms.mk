# SPDX-License-Identifier: Apache-2.0
# Compiles a room's sources together, in ROOM:PARTS parts: README.md.
entry_sources = $(abi_entry_points)
twin_sources = $(abi_twins)
rooms = base:1 topo:1 boot:1 trace:1 fault:1 cuda:1 core:2 btl:1 pml:2 coll:3 rma:1 io:1 stream:1 api:4 abi:1 entry:4 twin:4 mpirun:3 tern_info:1 tern_trace:2 softcuda:2 $(unit_rooms)
units = $(foreach room,$(rooms),$(foreach part,$(wordlist 1,$(lastword $(subst :, ,$(room))),1 2 3 4),\
  gen/unity/$(firstword $(subst :, ,$(room))).$(part).cc))

if UNITY
nodist_libtern_la_SOURCES += gen/unity/base.1.cc gen/unity/topo.1.cc gen/unity/boot.1.cc gen/unity/trace.1.cc gen/unity/fault.1.cc gen/unity/cuda.1.cc \
  gen/unity/core.1.cc gen/unity/core.2.cc gen/unity/btl.1.cc gen/unity/pml.1.cc gen/unity/pml.2.cc \
  gen/unity/coll.1.cc gen/unity/coll.2.cc gen/unity/coll.3.cc \
  gen/unity/rma.1.cc gen/unity/io.1.cc gen/unity/stream.1.cc gen/unity/api.1.cc gen/unity/api.2.cc gen/unity/api.3.cc gen/unity/api.4.cc gen/unity/abi.1.cc
nodist_libmpi_abi_la_SOURCES += gen/unity/entry.1.cc gen/unity/entry.2.cc gen/unity/entry.3.cc gen/unity/entry.4.cc \
  gen/unity/twin.1.cc gen/unity/twin.2.cc gen/unity/twin.3.cc gen/unity/twin.4.cc
nodist_libmpirun_la_SOURCES += gen/unity/mpirun.1.cc gen/unity/mpirun.2.cc gen/unity/mpirun.3.cc
nodist_libterninfo_la_SOURCES += gen/unity/tern_info.1.cc
nodist_libterntrace_la_SOURCES += gen/unity/tern_trace.1.cc gen/unity/tern_trace.2.cc
else
libtern_la_SOURCES += $(base_sources) $(topo_sources) $(boot_sources) $(trace_sources) $(fault_sources) $(cuda_sources) $(core_sources) \
  $(btl_sources) $(pml_sources) $(coll_sources) $(rma_sources) $(io_sources) $(stream_sources) $(api_sources) $(abi_sources)
nodist_libmpi_abi_la_SOURCES += $(abi_entry_points) $(abi_twins)
libmpirun_la_SOURCES += $(mpirun_sources)
libterninfo_la_SOURCES += $(tern_info_sources)
libterntrace_la_SOURCES += $(tern_trace_sources)
endif

EXTRA_DIST += src/precompiled/rooms.py
CLEANFILES += gen/unity.stamp $(units)
$(units): gen/unity.stamp
	@test -f $@ || { rm -f gen/unity.stamp; $(MAKE) gen/unity.stamp; }
gen/unity.stamp: Makefile $(srcdir)/src/precompiled/rooms.py $(srcdir)/src/base/generated.py
	$(AM_V_GEN)$(PYTHON) $(srcdir)/src/precompiled/rooms.py --out gen/unity \
	  $(foreach room,$(rooms),--room $(room) $(filter %.cc,$($(firstword $(subst :, ,$(room)))_sources)))
	@touch $@
