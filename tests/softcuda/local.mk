# SPDX-License-Identifier: Apache-2.0
# The software CUDA driver: tests/softcuda/libcuda.so.1, which programs find by LD_LIBRARY_PATH; -lcuda finds it by
# -L. It is not installed.
check_LTLIBRARIES += libsoftcuda.la
libsoftcuda_la_CPPFLAGS = -I$(top_srcdir) -I$(top_srcdir)/src
libsoftcuda_la_CXXFLAGS = $(AM_CXXFLAGS) -fvisibility=default
softcuda_sources = \
  tests/softcuda/attributes.cc tests/softcuda/capture.cc tests/softcuda/config.cc tests/softcuda/context.cc \
  tests/softcuda/copy.cc tests/softcuda/device.cc tests/softcuda/entry.cc tests/softcuda/errors.cc \
  tests/softcuda/event.cc tests/softcuda/graph.cc tests/softcuda/hardware_queue.cc tests/softcuda/host.cc \
  tests/softcuda/ipc.cc tests/softcuda/kernel.cc tests/softcuda/memory.cc \
  tests/softcuda/memory_operations.cc tests/softcuda/multicast.cc tests/softcuda/pool.cc \
  tests/softcuda/residency.cc tests/softcuda/space.cc tests/softcuda/stream.cc tests/softcuda/traps.cc \
  tests/softcuda/vmm.cc
if UNITY
nodist_libsoftcuda_la_SOURCES = gen/unity/softcuda.1.cc gen/unity/softcuda.2.cc
else
libsoftcuda_la_SOURCES = $(softcuda_sources)
endif

tests/softcuda/libcuda.so.1: libsoftcuda.la $(srcdir)/tests/softcuda/exports.map
	$(AM_V_CXXLD)$(CXX) $(AM_CXXFLAGS) $(CXXFLAGS) $(AM_LDFLAGS) -shared -Wl,-soname,libcuda.so.1 -Wl,-z,defs -o $@ \
	  -Wl,--version-script=$(srcdir)/tests/softcuda/exports.map \
	  -Wl,--whole-archive .libs/libsoftcuda.a -Wl,--no-whole-archive -ldl -pthread
tests/softcuda/libcuda.so: tests/softcuda/libcuda.so.1
	$(AM_V_GEN)ln -sf libcuda.so.1 $@
softcuda_files += tests/softcuda/libcuda.so

# Older drivers: the same, without the functions that came after them.
softcuda_older = tests/softcuda/12.0/libcuda.so.1 tests/softcuda/11.8/libcuda.so.1
tests/softcuda/%/libcuda.so.1: libsoftcuda.la $(srcdir)/tests/softcuda/exports-%.map
	$(AM_V_GEN)$(MKDIR_P) $(@D)
	$(AM_V_CXXLD)$(CXX) $(AM_CXXFLAGS) $(CXXFLAGS) $(AM_LDFLAGS) -shared -Wl,-soname,libcuda.so.1 -Wl,-z,defs -o $@ \
	  -Wl,--version-script=$(srcdir)/tests/softcuda/exports-$*.map \
	  -Wl,--whole-archive .libs/libsoftcuda.a -Wl,--no-whole-archive -ldl -pthread
softcuda_files += $(softcuda_older)
CLEANFILES += $(softcuda_older)
softcuda: $(softcuda_files)
.PHONY: softcuda
CLEANFILES += tests/softcuda/libcuda.so.1 tests/softcuda/libcuda.so
