# SPDX-License-Identifier: Apache-2.0
# The driver tests: tests/gpu/run starts the program on the software driver and on the real driver.
# The runner finds the programs in tests/gpu/mpi.
# Preloaded into programs of tests/mpi: moves their heap to a device.
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
# A program for the waiting kernels, with all ranks in one process.
check_PROGRAMS += tests/gpu/kernels/kernels_test
tests_gpu_kernels_kernels_test_SOURCES = tests/gpu/kernels/kernels_test.cc tests/gpu/kernels/batch.cc \
  tests/gpu/kernels/call.cc tests/gpu/kernels/call_put.cc tests/gpu/kernels/late.cc tests/gpu/kernels/ranks.cc tests/gpu/kernels/round.cc \
  tests/gpu/kernels/times.cc
tests_gpu_kernels_kernels_test_LDADD = libtern.la
# For the bundle.
tests_gpu_kernels_kernels_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--gc-sections -Wc,-static-libstdc++ -Wc,-static-libgcc
# A library of the waiting kernels with planted faults.
check_LTLIBRARIES += libtern_planted.la
libtern_planted_la_SOURCES = tests/gpu/kernels/plants.cc
libtern_planted_la_CXXFLAGS = $(AM_CXXFLAGS) -fno-strict-aliasing
libtern_planted_la_LIBADD = libtern_grid.la
check_LTLIBRARIES += tests/gpu/libplanted.la
tests_gpu_libplanted_la_SOURCES =
nodist_EXTRA_tests_gpu_libplanted_la_SOURCES = none.cc
tests_gpu_libplanted_la_LIBADD = libtern_planted.la
tests_gpu_libplanted_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)
gpu_test_files = tests/gpu/kernels/kernels_test$(EXEEXT) tests/gpu/libplanted.so
CLEANFILES += tests/gpu/libplanted.so
tests/gpu/libplanted.so: tests/gpu/libplanted.la
	$(AM_V_GEN)cp -f tests/gpu/.libs/libplanted.so $@
