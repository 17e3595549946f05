# SPDX-License-Identifier: Apache-2.0
# Programs for users: mpirun and the compiler wrappers.

# All of mpirun but main() is a library, also for the unit tests. Sources of other folders are
# listed by file, to build without the rest of libtern.
noinst_LTLIBRARIES += libmpirun.la
libmpirun_la_SOURCES = src/base/config.cc src/tools/mpirun/debugger.cc
# Debuggers read the types of MPIR_proctable.
src/tools/mpirun/debugger.lo: CXXFLAGS += -g
mpirun_sources += \
  src/tools/mpirun/binding.cc src/tools/mpirun/binding.hpp \
  src/tools/mpirun/debugger.hpp \
  src/tools/mpirun/door.cc src/tools/mpirun/door.hpp \
  src/tools/mpirun/dry_run.cc src/tools/mpirun/dry_run.hpp \
  src/tools/mpirun/elsewhere.cc src/tools/mpirun/elsewhere.hpp \
  src/tools/mpirun/environment.cc src/tools/mpirun/environment.hpp \
  src/tools/mpirun/feed.cc src/tools/mpirun/feed.hpp \
  src/tools/mpirun/guard.cc src/tools/mpirun/guard.hpp \
  src/tools/mpirun/handover.cc \
  src/tools/mpirun/hang.cc src/tools/mpirun/hang.hpp \
  src/tools/mpirun/hosts.cc src/tools/mpirun/hosts.hpp \
  src/tools/mpirun/job.cc src/tools/mpirun/job_end.cc src/tools/mpirun/job.hpp \
  src/tools/mpirun/lines.cc src/tools/mpirun/lines.hpp \
  src/tools/mpirun/loop.cc src/tools/mpirun/loop.hpp \
  src/tools/mpirun/meeting.cc src/tools/mpirun/meeting.hpp \
  src/tools/mpirun/not_started.cc src/tools/mpirun/not_started.hpp \
  src/tools/mpirun/option_elsewhere.cc src/tools/mpirun/option_parser.cc src/tools/mpirun/option_parser.hpp \
  src/tools/mpirun/option_table.cc src/tools/mpirun/option_values.cc \
  src/tools/mpirun/options.cc src/tools/mpirun/options.hpp \
  src/tools/mpirun/output_files.cc src/tools/mpirun/output_files.hpp \
  src/tools/mpirun/outputs.cc src/tools/mpirun/outputs.hpp \
  src/tools/mpirun/parameters.cc src/tools/mpirun/parameters.hpp \
  src/tools/mpirun/placement.cc src/tools/mpirun/placement.hpp \
  src/tools/mpirun/pmix_clients.cc src/tools/mpirun/pmix_clients.hpp \
  src/tools/mpirun/pmix_server.cc src/tools/mpirun/pmix_server.hpp \
  src/tools/mpirun/recording.cc src/tools/mpirun/recording.hpp \
  src/tools/mpirun/room.cc src/tools/mpirun/room.hpp \
  src/tools/mpirun/sink.cc src/tools/mpirun/sink.hpp \
  src/tools/mpirun/spawn.cc src/tools/mpirun/spawn.hpp \
  src/tools/mpirun/standard_input.cc src/tools/mpirun/standard_input.hpp \
  src/tools/mpirun/start_watch.cc src/tools/mpirun/start_watch.hpp \
  src/tools/mpirun/streams.cc src/tools/mpirun/streams.hpp \
  src/tools/mpirun/stuck.cc src/tools/mpirun/stuck.hpp \
  src/tools/mpirun/surroundings.hpp \
  src/tools/mpirun/wait_graph.cc src/tools/mpirun/wait_graph.hpp \
  src/tools/mpirun/worlds.cc src/tools/mpirun/worlds.hpp \
  src/base/ended.cc src/base/error.cc src/base/fd.cc src/base/futex.cc src/base/keeper.cc src/base/last_words.cc src/base/learnt_file.cc src/base/log.cc \
  src/base/mail.cc src/base/param_names.cc src/base/params.cc src/base/process_id.cc src/base/wait_report.cc src/base/wheels.cc \
  src/boot/known_worlds.cc src/boot/pmix_library.cc src/boot/process_set.cc src/boot/questions.cc src/boot/shared_job.cc \
  src/boot/spawn_request.cc \
  src/topo/core_hold.cc src/topo/cpus.cc src/topo/hwloc_library.cc src/topo/machine.cc \
  src/trace/claim.cc src/trace/drain.cc src/trace/page.cc src/trace/trace_file.cc
nodist_libmpirun_la_SOURCES = gen/coll/algorithm_words.cc

bin_PROGRAMS += mpirun
mpirun_SOURCES = src/tools/mpirun/main.cc
mpirun_LDADD = libmpirun.la
# Static libstdc++: loading the shared library takes longer than starting a rank.
mpirun_LDFLAGS = $(AM_LDFLAGS) -Wl,--gc-sections -Wc,-static-libstdc++ -Wc,-static-libgcc -Wl,--export-dynamic-symbol=MPIR_* \
  -Wl,--export-dynamic-symbol=accept -Wl,--export-dynamic-symbol=send

dist_man_MANS += man/man1/mpirun.1

install-exec-local:
	$(MKDIR_P) "$(DESTDIR)$(bindir)" && cd "$(DESTDIR)$(bindir)" && rm -f mpiexec && $(LN_S) mpirun mpiexec
uninstall-local:
	rm -f "$(DESTDIR)$(bindir)/mpiexec"
