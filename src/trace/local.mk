# SPDX-License-Identifier: Apache-2.0
# Records of calls: src/trace/README.md.
trace_sources += \
  src/trace/area.hpp src/trace/format.hpp src/trace/lines.hpp src/trace/notes.hpp src/trace/numbers.hpp \
  src/trace/claim.cc src/trace/claim.hpp \
  src/trace/drain.cc src/trace/drain.hpp \
  src/trace/memory.cc src/trace/memory.hpp \
  src/trace/packed.cc src/trace/packed.hpp \
  src/trace/page.cc src/trace/page.hpp \
  src/trace/profile.cc src/trace/profile.hpp \
  src/trace/ranges.cc src/trace/ranges.hpp \
  src/trace/recorder.cc src/trace/recorder.hpp \
  src/trace/sites.cc src/trace/sites.hpp \
  src/trace/ticks.cc src/trace/ticks.hpp \
  src/trace/trace_file.cc src/trace/trace_file.hpp
