# SPDX-License-Identifier: Apache-2.0
# libmpifort_abi and the modules of the compiler of this build.
fortran_generators = src/fortran/generate.py src/fortran/view.py src/fortran/emit_entries.py src/fortran/emit_modules.py \
  src/fortran/callbacks.f90
EXTRA_DIST += $(fortran_generators) src/fortran/exports.map src/fortran/probe.c src/fortran/probe.f90

CLEANFILES += gen/fortran.stamp gen/fortran/entries.inc gen/fortran/compared.inc gen/mpif/mpif.h gen/mpif/mpi.f90 gen/mpif/mpi_f08.f90 \
  gen/mpif/mpi.mod gen/mpif/mpi_f08.mod
gen/fortran/entries.inc gen/fortran/compared.inc gen/mpif/mpif.h gen/mpif/mpi.f90 gen/mpif/mpi_f08.f90: gen/fortran.stamp
	@:
gen/fortran.stamp: $(srcdir)/src/abi/functions.txt $(srcdir)/src/abi/table.py $(srcdir)/include/mpi.h \
  $(addprefix $(srcdir)/,$(fortran_generators))
	$(AM_V_GEN)$(PYTHON) $(srcdir)/src/fortran/generate.py --top $(srcdir) --out gen
	@touch $@

if HAVE_FORTRAN
BUILT_SOURCES += gen/fortran.stamp
lib_LTLIBRARIES += libmpifort_abi.la
libmpifort_abi_la_SOURCES = src/fortran/entries.c src/fortran/entries_profiled.c src/fortran/support.c src/fortran/sections.c src/fortran/pending.c \
  src/fortran/callbacks.c src/fortran/attributes.c src/fortran/start.c src/fortran/fort.h src/fortran/callbacks.h \
  src/fortran/entries.inc.h src/fortran/special.inc.h
# The COMMON block of the program must replace the library's: no hidden visibility.
libmpifort_abi_la_CPPFLAGS = -I$(top_srcdir)/src -I$(top_srcdir)/include -Igen
libmpifort_abi_la_CFLAGS = $(TERN_CFLAGS) -fvisibility=default -Wno-shadow
EXTRA_libmpifort_abi_la_DEPENDENCIES = $(srcdir)/src/fortran/exports.map
libmpifort_abi_la_LDFLAGS = $(AM_LDFLAGS) -version-info 1:0:0 -Wl,--version-script=$(srcdir)/src/fortran/exports.map -Wl,--as-needed
libmpifort_abi_la_LIBADD =
libmpifort_abi_la_LINK = $(LIBTOOL) $(AM_V_lt) --tag=CC $(AM_LIBTOOLFLAGS) $(LIBTOOLFLAGS) --mode=link \
  $(CC) $(libmpifort_abi_la_CFLAGS) $(CFLAGS) $(libmpifort_abi_la_LDFLAGS) $(LDFLAGS) -o $@
# Thousands of short functions: -O2 takes half as much time again.
src/fortran/libmpifort_abi_la-entries.lo src/fortran/libmpifort_abi_la-entries_profiled.lo: CFLAGS += -O1 -foptimize-sibling-calls
src/fortran/libmpifort_abi_la-entries.lo src/fortran/libmpifort_abi_la-entries_profiled.lo: gen/fortran/entries.inc
src/fortran/libmpifort_abi_la-support.lo: gen/fortran/compared.inc

mpifdir = $(libdir)/mpifort
nodist_mpif_DATA = gen/mpif/mpi.f90 gen/mpif/mpi_f08.f90
mpifmodulesdir = $(libdir)/mpifort/$(FORTRAN_NAME)
nodist_mpifmodules_DATA = gen/mpif/mpi.mod gen/mpif/mpi_f08.mod
nodist_include_HEADERS = gen/mpif/mpif.h
gen/mpif/mpi.mod: gen/fortran.stamp
	$(AM_V_GEN)cd gen/mpif && $(FC) -fsyntax-only mpi.f90 && touch mpi.mod
gen/mpif/mpi_f08.mod: gen/fortran.stamp
	$(AM_V_GEN)cd gen/mpif && $(FC) -fsyntax-only mpi_f08.f90 && touch mpi_f08.mod
endif
