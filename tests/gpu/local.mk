# SPDX-License-Identifier: Apache-2.0
# The tests of the CUDA driver: one program, which tests/gpu/run starts on the software driver and on the real one.
# Programs in tests/gpu/mpi are found by themselves.
# Preloaded into programs of tests/mpi: their heap is a device's.
tests/gpu/libheap.so: $(srcdir)/tests/gpu/heap.cc
	@$(MKDIR_P) $(@D)
	$(AM_V_CXXLD)$(CXX) $(DEFS) -I$(srcdir)/src $(AM_CXXFLAGS) $(CXXFLAGS) $(AM_LDFLAGS) -shared -fPIC -Wl,-z,defs \
	  -o $@ $< -ldl
softcuda_files += tests/gpu/libheap.so
CLEANFILES += tests/gpu/libheap.so
if HAVE_GTEST
check_PROGRAMS += tests/gpu/driver/driver_test
endif
tests_gpu_driver_driver_test_SOURCES = tests/gpu/driver/driver_test.cc tests/gpu/driver/capture.cc \
  tests/gpu/driver/graphs.cc tests/gpu/driver/kernels.cc \
  tests/gpu/driver/memory.cc tests/gpu/driver/memory_order.cc tests/gpu/driver/multicast.cc \
  tests/gpu/driver/residency.cc tests/gpu/driver/sharing.cc tests/gpu/driver/soft.cc tests/gpu/driver/streams.cc
tests_gpu_driver_driver_test_CPPFLAGS = -I$(top_srcdir)/src -I$(top_srcdir) $(GTEST_CFLAGS)
tests_gpu_driver_driver_test_LDADD = $(GTEST_LIBS) -ldl
