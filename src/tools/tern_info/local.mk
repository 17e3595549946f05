# SPDX-License-Identifier: Apache-2.0
# tern_info, and the manual page generated from the table of parameters.
noinst_LTLIBRARIES += libterninfo.la
libterninfo_la_SOURCES = src/tools/tern_info/facts.cc
tern_info_sources += \
  src/tools/tern_info/facts.hpp \
  src/tools/tern_info/gpus.cc src/tools/tern_info/json.hpp \
  src/tools/tern_info/links_svg.cc \
  src/tools/tern_info/manual.cc src/tools/tern_info/manual.hpp \
  src/tools/tern_info/options.cc src/tools/tern_info/options.hpp \
  src/tools/tern_info/picture.hpp \
  src/tools/tern_info/picture_svg.cc src/tools/tern_info/picture_text.cc \
  src/tools/tern_info/program.cc src/tools/tern_info/program.hpp \
  src/tools/tern_info/report.hpp \
  src/tools/tern_info/report_json.cc src/tools/tern_info/report_summary.cc \
  src/tools/tern_info/report_text.cc \
  src/tools/tern_info/words.cc src/tools/tern_info/words.hpp

bin_PROGRAMS += tern_info
tern_info_SOURCES = src/tools/tern_info/main.cc
tern_info_LDADD = libterninfo.la libtern.la
tern_info_LDFLAGS = $(AM_LDFLAGS) -Wl,--gc-sections -Wc,-static-libstdc++ -Wc,-static-libgcc

# Equal binaries from any build folder.
no_build_path = s/ *-f[a-z]*-prefix-map=[^ "]*//g
BUILT_SOURCES += gen/build_facts.h
CLEANFILES += gen/build_facts.h
src/tools/tern_info/facts.lo: gen/build_facts.h
gen/build_facts.h: config.status
	$(AM_V_GEN)$(MKDIR_P) gen && { \
	  echo '// Generated from config.status.'; \
	  printf '#define TERN_BUILD_COMPILER "%s"\n' '$(WRAP_CXX)'; \
	  printf '#define TERN_BUILD_FLAGS "%s"\n' '$(TERN_CXXFLAGS) $(CXXFLAGS)' | $(SED) -e '$(no_build_path)'; \
	  ./config.status --config | $(SED) -e '$(no_build_path)' -e 's/[\\"]/\\&/g' -e 's/^/#define TERN_BUILD_CONFIGURE "/' -e 's/$$/"/'; \
	} > $@.tmp && mv $@.tmp $@

man_MANS += tern_parameters.7
CLEANFILES += tern_parameters.7
tern_parameters.7: tern_info$(EXEEXT)
	$(AM_V_GEN)./tern_info$(EXEEXT) --man > $@.tmp && mv $@.tmp $@
