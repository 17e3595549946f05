# SPDX-License-Identifier: Apache-2.0
libtern_la_SOURCES += src/base/config.cc
libtern_la_SOURCES += src/base/crash.cc
libtern_la_SOURCES += src/base/doorbell.cc
libtern_la_SOURCES += src/base/error.cc
libtern_la_SOURCES += src/base/explain.cc
libtern_la_SOURCES += src/base/fd.cc
libtern_la_SOURCES += src/base/futex.cc
libtern_la_SOURCES += src/base/last_words.cc
libtern_la_SOURCES += src/base/log.cc
libtern_la_SOURCES += src/base/params.cc
libtern_la_SOURCES += src/base/stack.cc
libtern_la_SOURCES += src/base/wait_report.cc

# Where this build is installed, for config.cc alone: another prefix compiles one file again.
BUILT_SOURCES += $(GEN)/install_paths.hpp
CLEANFILES += $(GEN)/install_paths.hpp
src/base/config.lo: $(GEN)/install_paths.hpp
$(GEN)/install_paths.hpp: config.status
	$(AM_V_GEN)mkdir -p $(GEN) && { echo '// Made by src/base/local.mk.'; \
	  echo '#define TERN_PREFIX "$(prefix)"'; echo '#define TERN_BINDIR "$(bindir)"'; \
	  echo '#define TERN_LIBDIR "$(libdir)"'; echo '#define TERN_SYSCONFDIR "$(sysconfdir)"'; } > $@
