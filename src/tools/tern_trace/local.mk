# SPDX-License-Identifier: Apache-2.0
# tern_trace: reads traces of programs. All but main() is a library, also for the unit tests.
noinst_LTLIBRARIES += libterntrace.la
libterntrace_la_SOURCES =
libterntrace_la_LIBADD = $(OTF2_LIBS)
nodist_libterntrace_la_SOURCES += gen/trace_page.cc
tern_trace_sources += \
  src/tools/tern_trace/analysis.hpp \
  src/tools/tern_trace/chrome.cc \
  src/tools/tern_trace/collect.cc \
  src/tools/tern_trace/definitions.cc \
  src/tools/tern_trace/diff.cc \
  src/tools/tern_trace/filter.cc src/tools/tern_trace/filter.hpp \
  src/tools/tern_trace/findings.cc \
  src/tools/tern_trace/flat_map.hpp \
  src/tools/tern_trace/match.cc \
  src/tools/tern_trace/model.cc src/tools/tern_trace/model.hpp \
  src/tools/tern_trace/options.cc src/tools/tern_trace/options.hpp \
  src/tools/tern_trace/otf2.cc \
  src/tools/tern_trace/page.cc src/tools/tern_trace/page_text.hpp \
  src/tools/tern_trace/path.cc \
  src/tools/tern_trace/places.cc src/tools/tern_trace/places.hpp \
  src/tools/tern_trace/reader.cc src/tools/tern_trace/reader.hpp \
  src/tools/tern_trace/report_json.cc src/tools/tern_trace/report_text.cc \
  src/tools/tern_trace/reports.hpp \
  src/tools/tern_trace/symbols.cc src/tools/tern_trace/symbols.hpp \
  src/tools/tern_trace/waits.cc src/tools/tern_trace/waits_collective.cc src/tools/tern_trace/waits_epoch.cc \
  src/tools/tern_trace/workload.cc

bin_PROGRAMS += tern_trace
tern_trace_SOURCES = src/tools/tern_trace/main.cc
tern_trace_LDADD = libterntrace.la libtern.la
tern_trace_LDFLAGS = $(AM_LDFLAGS) -Wl,--gc-sections -Wc,-static-libstdc++ -Wc,-static-libgcc
dist_man_MANS += man/man1/tern_trace.1

# The page's fixed parts as strings.
trace_page = $(srcdir)/src/tools/tern_trace/page.html $(srcdir)/src/tools/tern_trace/page.css $(srcdir)/src/tools/tern_trace/page.js
BUILT_SOURCES += gen/trace_page.cc
CLEANFILES += gen/trace_page.cc
gen/trace_page.cc: $(trace_page)
	$(AM_V_GEN)$(MKDIR_P) gen && { \
	  echo '// Generated from src/tools/tern_trace/page.html, page.css and page.js.'; \
	  echo '#include "tools/tern_trace/page_text.hpp"'; \
	  echo 'namespace tern::trace_tool {'; \
	  for part in Frame:html Style:css Script:js; do \
	    echo "const char kPage$${part%:*}[] = R\"~page~("; \
	    cat $(srcdir)/src/tools/tern_trace/page.$${part#*:}; \
	    echo ')~page~";'; \
	  done; \
	  echo '}  // namespace tern::trace_tool'; \
	} > $@.tmp && mv $@.tmp $@
