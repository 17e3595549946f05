# SPDX-License-Identifier: Apache-2.0
libtern_la_SOURCES += src/base/config.cc
base_sources += src/base/call_site.cc
base_sources += src/base/crash.cc
base_sources += src/base/doorbell.cc
base_sources += src/base/ended.cc
base_sources += src/base/error.cc
base_sources += src/base/explain.cc
base_sources += src/base/fate.cc
base_sources += src/base/fd.cc
base_sources += src/base/futex.cc
base_sources += src/base/keeper.cc
base_sources += src/base/last_words.cc
base_sources += src/base/learnt_file.cc
base_sources += src/base/log.cc
base_sources += src/base/mail.cc
base_sources += src/base/param_names.cc
base_sources += src/base/params.cc
base_sources += src/base/process_file.cc
base_sources += src/base/process_id.cc
base_sources += src/base/remote_fence.cc
base_sources += src/base/shared_file.cc
base_sources += src/base/stack.cc
base_sources += src/base/text_file.cc
base_sources += src/base/wait_report.cc
base_sources += src/base/wheels.cc

# Only config.cc includes the installation folders: a change of prefix recompiles one file.
BUILT_SOURCES += $(GEN)/install_paths.hpp
CLEANFILES += $(GEN)/install_paths.hpp
src/base/config.lo: $(GEN)/install_paths.hpp
$(GEN)/install_paths.hpp: config.status
	$(AM_V_GEN)mkdir -p $(GEN) && { echo '// Made by src/base/local.mk.'; \
	  echo '#define TERN_PREFIX "$(prefix)"'; echo '#define TERN_BINDIR "$(bindir)"'; \
	  echo '#define TERN_LIBDIR "$(libdir)"'; echo '#define TERN_SYSCONFDIR "$(sysconfdir)"'; } > $@
