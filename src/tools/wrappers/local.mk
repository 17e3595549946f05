# SPDX-License-Identifier: Apache-2.0
# The compiler wrappers (one script under six names, with relative paths) and the pkg-config file.
WRAPPER_LINKS = mpicxx mpic++ mpicc_abi mpicxx_abi mpic++_abi
PC_LINKS = mpi-c.pc mpi-cxx.pc

bin_SCRIPTS += mpicc
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = tern.pc
EXTRA_DIST += src/tools/wrappers/mpicc.in src/tools/wrappers/tern.pc.in
CLEANFILES += mpicc tern.pc

# [_]: config.status would replace the plain name here, in the Makefile.
relative = realpath -m --relative-to
fill_in = $(AM_V_GEN)$(SED) -e "s|@bin_to_include@|`$(relative)=$(bindir) $(includedir)`|" \
  -e "s|@bin_to_lib@|`$(relative)=$(bindir) $(libdir)`|" \
  -e "s|@pc_to_include@|`$(relative)=$(pkgconfigdir) $(includedir)`|" \
  -e 's|@wrap_cc@|$(WRAP_CC)|' -e 's|@wrap_cxx@|$(WRAP_CXX)|' \
  -e 's|@PACKAGE[_]VERSION@|$(PACKAGE_VERSION)|'

mpicc: src/tools/wrappers/mpicc.in config.status
	$(fill_in) $(srcdir)/src/tools/wrappers/mpicc.in > $@.tmp && chmod +x $@.tmp && mv $@.tmp $@

tern.pc: src/tools/wrappers/tern.pc.in config.status
	$(fill_in) $(srcdir)/src/tools/wrappers/tern.pc.in > $@.tmp && mv $@.tmp $@

wrappers-install:
	cd $(DESTDIR)$(bindir) && for name in $(WRAPPER_LINKS); do rm -f $$name && $(LN_S) mpicc $$name; done

wrappers-install-pc:
	cd $(DESTDIR)$(pkgconfigdir) && for name in $(PC_LINKS); do rm -f $$name && $(LN_S) tern.pc $$name; done

wrappers-uninstall:
	cd $(DESTDIR)$(bindir) && rm -f $(WRAPPER_LINKS)
	cd $(DESTDIR)$(pkgconfigdir) && rm -f $(PC_LINKS)
.PHONY: wrappers-install wrappers-install-pc wrappers-uninstall
