# SPDX-License-Identifier: Apache-2.0
# The compiler wrappers (one script under several names, with relative paths) and the pkg-config file.
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = tern.pc
WRAPPER_LINKS = mpicxx mpic++ mpicc_abi mpicxx_abi mpic++_abi
PC_LINKS = mpi-c.pc mpi-cxx.pc
if HAVE_FORTRAN
WRAPPER_LINKS += mpifort mpif90 mpif77 mpifort_abi
pkgconfig_DATA += mpi-fort.pc
endif

bin_SCRIPTS += mpicc
EXTRA_DIST += src/tools/wrappers/mpicc.in src/tools/wrappers/tern.pc.in
CLEANFILES += mpicc tern.pc mpi-fort.pc

# [_]: config.status would replace the plain name here, in the Makefile.
relative = realpath -m --relative-to
fill_in = $(AM_V_GEN)$(SED) -e "s|@bin_to_include@|`$(relative)=$(bindir) $(includedir)`|" \
  -e "s|@bin_to_lib@|`$(relative)=$(bindir) $(libdir)`|" \
  -e "s|@pc_to_include@|`$(relative)=$(pkgconfigdir) $(includedir)`|" \
  -e 's|@wrap_cc@|$(WRAP_CC)|' -e 's|@wrap_cxx@|$(WRAP_CXX)|' -e 's|@wrap_fc@|$(WRAP_FC)|' \
  -e 's|@fortran_name@|$(FORTRAN_NAME)|' \
  -e 's|@PACKAGE[_]VERSION@|$(PACKAGE_VERSION)|'

mpicc: src/tools/wrappers/mpicc.in config.status
	$(fill_in) $(srcdir)/src/tools/wrappers/mpicc.in > $@.tmp && chmod +x $@.tmp && mv $@.tmp $@

tern.pc: src/tools/wrappers/tern.pc.in config.status
	$(fill_in) $(srcdir)/src/tools/wrappers/tern.pc.in > $@.tmp && mv $@.tmp $@

# The flags of C with the Fortran library and the modules.
mpi-fort.pc: tern.pc
	$(AM_V_GEN)$(SED) -e 's|^Name: .*|Name: Tern MPI (Fortran)|' -e 's|^Cflags: .*|& -I$${libdir}/mpifort/$(FORTRAN_NAME)|' \
	  -e 's|-lmpi_abi|-lmpifort_abi -lmpi_abi|' tern.pc > $@.tmp && mv $@.tmp $@

wrappers-install:
	cd $(DESTDIR)$(bindir) && for name in $(WRAPPER_LINKS); do rm -f $$name && $(LN_S) mpicc $$name; done

wrappers-install-pc:
	cd $(DESTDIR)$(pkgconfigdir) && for name in $(PC_LINKS); do rm -f $$name && $(LN_S) tern.pc $$name; done

wrappers-uninstall:
	cd $(DESTDIR)$(bindir) && rm -f $(WRAPPER_LINKS)
	cd $(DESTDIR)$(pkgconfigdir) && rm -f $(PC_LINKS)
.PHONY: wrappers-install wrappers-install-pc wrappers-uninstall
