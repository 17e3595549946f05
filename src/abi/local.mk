# SPDX-License-Identifier: Apache-2.0
# Generated entry points and their rule; Makefile.am explains GEN.
abi_generators = src/base/generated.py src/abi/generate.py src/abi/table.py src/abi/emit_bodies.py \
  src/abi/emit_entry.py src/abi/emit_traced.py src/abi/emit_man.py src/abi/pages.py src/abi/mdoc.py src/abi/summaries.txt \
  src/fortran/view.py src/fortran/emit_modules.py src/fortran/emit_entries.py
EXTRA_DIST += src/abi/functions.txt src/abi/exports.map $(abi_generators)

abi_sources += src/abi/checks.cc
abi_sources += src/abi/raise.cc
abi_sources += src/abi/traced.cc src/abi/traced.hpp src/abi/fork.hpp

# One file per chapter of functions.txt, for parallel compilation.
abi_entry_points = \
  gen/abi/env.cc gen/abi/abi.cc gen/abi/info.cc gen/abi/errhandler.cc gen/abi/attribute.cc \
  gen/abi/status.cc gen/abi/request.cc gen/abi/pt2pt.cc gen/abi/buffer.cc gen/abi/partitioned.cc \
  gen/abi/datatype.cc gen/abi/op.cc gen/abi/group.cc gen/abi/comm.cc gen/abi/topology.cc \
  gen/abi/coll.cc gen/abi/neighbor.cc gen/abi/session.cc gen/abi/dynamic.cc gen/abi/rma.cc \
  gen/abi/io.cc gen/abi/tool.cc gen/abi/stream.cc gen/abi/fault.cc gen/abi/trace.cc
# Recorded twins of the entry points.
abi_twins = \
  gen/abi/twin/env.cc gen/abi/twin/request.cc gen/abi/twin/pt2pt.cc gen/abi/twin/buffer.cc gen/abi/twin/partitioned.cc \
  gen/abi/twin/comm.cc gen/abi/twin/topology.cc gen/abi/twin/coll.cc gen/abi/twin/neighbor.cc gen/abi/twin/session.cc \
  gen/abi/twin/dynamic.cc gen/abi/twin/rma.cc gen/abi/twin/io.cc gen/abi/twin/stream.cc gen/abi/twin/fault.cc
libmpi_abi_la_SOURCES += src/abi/mpix.cc
include_HEADERS += include/mpi.h include/mpix.h include/mpi-ext.h

BUILT_SOURCES += gen/abi.stamp
CLEANFILES += gen/abi.stamp gen/api/bodies.hpp gen/unsupported.inc gen/recorded.inc $(abi_entry_points) $(abi_twins)
# With an empty recipe make checks the times of the generated files again.
$(abi_entry_points) $(abi_twins) gen/api/bodies.hpp gen/recorded.inc: gen/abi.stamp
	@:
gen/abi.stamp: $(srcdir)/src/abi/functions.txt $(addprefix $(srcdir)/,$(abi_generators)) \
  $(wildcard $(srcdir)/src/abi/pages/*)
	$(AM_V_GEN)$(PYTHON) $(srcdir)/src/abi/generate.py --table $(srcdir)/src/abi/functions.txt --out gen
	@touch $@

# Makefile.am installs the manual pages of section 3.
abi-install-man: gen/abi.stamp
	$(MKDIR_P) $(DESTDIR)$(mandir)/man3 && $(INSTALL_DATA) gen/man3/*.3 $(DESTDIR)$(mandir)/man3

abi-uninstall-man:
	cd gen/man3 && for page in *.3; do rm -f $(DESTDIR)$(mandir)/man3/$$page; done
clean-local:
	rm -rf gen/man3
.PHONY: abi-install-man abi-uninstall-man
