# SPDX-License-Identifier: Apache-2.0
# Kernels compiled for the host: objects for unit tests, and a library for the software driver. grid and fiber annotate
# stack switches for TSan. Kernels rely on type punning, permitted by CUDA's compiler.
check_LTLIBRARIES += libtern_grid.la libtern_kernels.la
libtern_grid_la_SOURCES = tests/softcuda/shim/fiber.cc tests/softcuda/shim/grid.cc tests/softcuda/shim/weak.cc
libtern_grid_la_CXXFLAGS = $(AM_CXXFLAGS) -fno-sanitize=thread
libtern_kernels_la_SOURCES = tests/softcuda/shim/kernels_host.cc
libtern_kernels_la_CXXFLAGS = $(AM_CXXFLAGS) -fno-strict-aliasing
libtern_kernels_la_LIBADD = libtern_grid.la

# -rpath makes libtool build a shared library. Not installed.
check_LTLIBRARIES += tests/softcuda/libtern_kernels_host.la
tests_softcuda_libtern_kernels_host_la_SOURCES =
nodist_EXTRA_tests_softcuda_libtern_kernels_host_la_SOURCES = none.cc
tests_softcuda_libtern_kernels_host_la_LIBADD = libtern_kernels.la
tests_softcuda_libtern_kernels_host_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)
softcuda_files += tests/softcuda/libtern_kernels_host.so
CLEANFILES += tests/softcuda/libtern_kernels_host.so
tests/softcuda/libtern_kernels_host.so: tests/softcuda/libtern_kernels_host.la
	$(AM_V_GEN)cp -f tests/softcuda/.libs/libtern_kernels_host.so $@
