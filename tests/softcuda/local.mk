# SPDX-License-Identifier: Apache-2.0
# The software CUDA driver, tests/softcuda/libcuda.so.1. Programs find the library by LD_LIBRARY_PATH, -lcuda by -L.
# Not installed.
check_LTLIBRARIES += libsoftcuda.la
libsoftcuda_la_CPPFLAGS = -I$(top_srcdir) -I$(top_srcdir)/src
libsoftcuda_la_CXXFLAGS = $(AM_CXXFLAGS) -fvisibility=default
softnvml = tests/softcuda/libnvidia-ml.so.1
softcuda_sources = \
  tests/softcuda/attributes.cc tests/softcuda/capture.cc tests/softcuda/config.cc tests/softcuda/context.cc \
  tests/softcuda/copy.cc tests/softcuda/device.cc tests/softcuda/entry.cc tests/softcuda/errors.cc \
  tests/softcuda/event.cc tests/softcuda/graph.cc tests/softcuda/green.cc tests/softcuda/hardware_queue.cc \
  tests/softcuda/host.cc tests/softcuda/ipc.cc tests/softcuda/kernel.cc tests/softcuda/ledger.cc tests/softcuda/memory.cc \
  tests/softcuda/memory_operations.cc tests/softcuda/multicast.cc tests/softcuda/pool.cc \
  tests/softcuda/residency.cc tests/softcuda/space.cc tests/softcuda/stream.cc tests/softcuda/traps.cc \
  tests/softcuda/vmm.cc
if UNITY
nodist_libsoftcuda_la_SOURCES = gen/unity/softcuda.1.cc gen/unity/softcuda.2.cc
else
libsoftcuda_la_SOURCES = $(softcuda_sources)
endif

tests/softcuda/libcuda.so.1: libsoftcuda.la $(srcdir)/tests/softcuda/exports.map | $(softnvml)
	$(AM_V_CXXLD)$(CXX) $(AM_CXXFLAGS) $(CXXFLAGS) $(AM_LDFLAGS) -shared -Wl,-soname,libcuda.so.1 -Wl,-z,defs -o $@ \
	  -Wl,--version-script=$(srcdir)/tests/softcuda/exports.map \
	  -Wl,--whole-archive .libs/libsoftcuda.a -Wl,--no-whole-archive -ldl -pthread
tests/softcuda/libcuda.so: tests/softcuda/libcuda.so.1
	$(AM_V_GEN)ln -sf libcuda.so.1 $@
softcuda_files += tests/softcuda/libcuda.so

# The software NVML, beside the driver for the same LD_LIBRARY_PATH.
check_LTLIBRARIES += libsoftnvml.la
libsoftnvml_la_CPPFLAGS = $(libsoftcuda_la_CPPFLAGS)
libsoftnvml_la_CXXFLAGS = $(libsoftcuda_la_CXXFLAGS)
libsoftnvml_la_SOURCES = tests/softcuda/nvml.cc tests/softcuda/config.cc
$(softnvml): libsoftnvml.la $(srcdir)/tests/softcuda/exports-nvml.map
	$(AM_V_CXXLD)$(CXX) $(AM_CXXFLAGS) $(CXXFLAGS) $(AM_LDFLAGS) -shared -Wl,-soname,libnvidia-ml.so.1 -Wl,-z,defs -o $@ \
	  -Wl,--version-script=$(srcdir)/tests/softcuda/exports-nvml.map \
	  -Wl,--whole-archive .libs/libsoftnvml.a -Wl,--no-whole-archive
# Older drivers need the software NVML too. nvml-away has an NVML that does not load, nvml-old lacks newer functions.
tests/softcuda/%/libnvidia-ml.so.1: $(softnvml)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ln -sf ../libnvidia-ml.so.1 $@
tests/softcuda/nvml-away/libnvidia-ml.so.1:
	$(AM_V_GEN)$(MKDIR_P) $(@D) && echo 'not a library' > $@
tests/softcuda/nvml-old/libnvidia-ml.so.1: libsoftnvml.la $(srcdir)/tests/softcuda/exports-nvml-old.map
	$(AM_V_GEN)$(MKDIR_P) $(@D)
	$(AM_V_CXXLD)$(CXX) $(AM_CXXFLAGS) $(CXXFLAGS) $(AM_LDFLAGS) -shared -Wl,-soname,libnvidia-ml.so.1 -Wl,-z,defs -o $@ \
	  -Wl,--version-script=$(srcdir)/tests/softcuda/exports-nvml-old.map \
	  -Wl,--whole-archive .libs/libsoftnvml.a -Wl,--no-whole-archive
softnvml_files = $(softnvml) tests/softcuda/12.0/libnvidia-ml.so.1 tests/softcuda/11.8/libnvidia-ml.so.1 \
  tests/softcuda/nvml-away/libnvidia-ml.so.1 tests/softcuda/nvml-old/libnvidia-ml.so.1
softnvml_drivers = tests/softcuda/nvml-away/libcuda.so.1 tests/softcuda/nvml-old/libcuda.so.1
$(softnvml_drivers): tests/softcuda/libcuda.so.1
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ln -sf ../libcuda.so.1 $@
softcuda_files += $(softnvml_files) $(softnvml_drivers)
CLEANFILES += $(softnvml_files) $(softnvml_drivers)

# The software libcufile, in the same folder.
check_LTLIBRARIES += libsoftcufile.la
libsoftcufile_la_CPPFLAGS = $(libsoftcuda_la_CPPFLAGS)
libsoftcufile_la_CXXFLAGS = $(libsoftcuda_la_CXXFLAGS)
libsoftcufile_la_SOURCES = tests/softcuda/cufile.cc tests/softcuda/config.cc
softcufile = tests/softcuda/libcufile.so.0
$(softcufile): libsoftcufile.la $(srcdir)/tests/softcuda/exports-cufile.map
	$(AM_V_CXXLD)$(CXX) $(AM_CXXFLAGS) $(CXXFLAGS) $(AM_LDFLAGS) -shared -Wl,-soname,libcufile.so.0 -Wl,-z,defs -o $@ \
	  -Wl,--version-script=$(srcdir)/tests/softcuda/exports-cufile.map \
	  -Wl,--whole-archive .libs/libsoftcufile.a -Wl,--no-whole-archive -ldl -pthread
softcuda_files += $(softcufile)
CLEANFILES += $(softcufile)

# Older drivers: the same library, without newer functions.
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
