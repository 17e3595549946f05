# SPDX-License-Identifier: Apache-2.0
# Installs the CMake package and the module files; make release makes all packages (packaging/README.md).
cmakedir = $(libdir)/cmake/Tern
modulesdir = $(datadir)/modulefiles/tern
nodist_cmake_DATA = packaging/cmake/installed/TernConfig.cmake packaging/cmake/installed/TernConfigVersion.cmake
module_files = packaging/modulefiles/installed/$(PACKAGE_VERSION) packaging/modulefiles/installed/$(PACKAGE_VERSION).lua
nodist_modules_DATA = $(module_files)
CLEANFILES += $(nodist_cmake_DATA) $(module_files)
EXTRA_DIST += packaging/cmake/TernConfig.cmake packaging/cmake/TernConfigVersion.cmake
EXTRA_DIST += packaging/modulefiles/tern packaging/modulefiles/tern.lua

place = $(AM_V_GEN)$(MKDIR_P) $(@D) && $(SED) -e 's|@PACKAGE[_]VERSION@|$(PACKAGE_VERSION)|' \
  -e "s|@cmake_to_include@|`$(relative)=$(cmakedir) $(includedir)`|" -e "s|@cmake_to_bin@|`$(relative)=$(cmakedir) $(bindir)`|" \
  -e "s|@modules_to_prefix@|`$(relative)=$(modulesdir) $(prefix)`|" -e "s|@prefix_to_lib@|`$(relative)=$(prefix) $(libdir)`|"
packaging/cmake/installed/%: packaging/cmake/% config.status
	$(place) $< > $@
packaging/modulefiles/installed/$(PACKAGE_VERSION): packaging/modulefiles/tern config.status
	$(place) $< > $@
packaging/modulefiles/installed/$(PACKAGE_VERSION).lua: packaging/modulefiles/tern.lua config.status
	$(place) $< > $@

# wheel: from this build. release: from the tarball; OUT: the folder, by default release.
wheel: all
	$(AM_V_at)rm -rf wheel.stage && $(MAKE) -s install DESTDIR="$(abs_builddir)/wheel.stage" >wheel.log 2>&1 || { tail -n 20 wheel.log; exit 1; }
	$(AM_V_GEN)CC="$(WRAP_CC)" $(srcdir)/packaging/wheel/build --installed "wheel.stage$(prefix)" --out .
	$(AM_V_at)rm -rf wheel.stage wheel.log
release:
	$(srcdir)/packaging/release --build . --out "$(or $(OUT),release)"
.PHONY: wheel release
