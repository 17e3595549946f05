# SPDX-License-Identifier: Apache-2.0
# Collectives: schedules, the algorithms that emit them, their verifier and the engine that runs them.
libtern_la_SOURCES += coll/schedule/schedule.cc
libtern_la_SOURCES += coll/schedule/neighbors.cc
libtern_la_SOURCES += coll/schedule/builder.cc
libtern_la_SOURCES += coll/schedule/levels.cc
libtern_la_SOURCES += coll/schedule/level_words.cc
libtern_la_SOURCES += coll/engine/places.cc
libtern_la_SOURCES += coll/verify/symbol.cc
libtern_la_SOURCES += coll/verify/verify.cc
libtern_la_SOURCES += coll/verify/verify_run.cc
libtern_la_SOURCES += coll/verify/verify_order.cc
libtern_la_SOURCES += coll/verify/verify_result.cc
libtern_la_SOURCES += coll/verify/verify_remote.cc
libtern_la_SOURCES += coll/algorithms/table.cc
# The other files of coll/algorithms, in one compilation; nothing else lists them.
nodist_libtern_la_SOURCES += gen/coll/algorithms.cc
nodist_libtern_la_SOURCES += gen/coll/algorithm_words.cc
libtern_la_SOURCES += coll/schedule/timeline.cc
libtern_la_SOURCES += coll/engine/geometry.cc
libtern_la_SOURCES += coll/engine/bind.cc
libtern_la_SOURCES += coll/engine/cache.cc
libtern_la_SOURCES += coll/select/model.cc
libtern_la_SOURCES += coll/select/rules.cc
libtern_la_SOURCES += coll/select/select.cc
libtern_la_SOURCES += coll/engine/check.cc
libtern_la_SOURCES += coll/engine/refusal.cc
libtern_la_SOURCES += coll/engine/refusal_notices.cc
libtern_la_SOURCES += coll/comm_state.cc
libtern_la_SOURCES += coll/engine/engine_host.cc
libtern_la_SOURCES += coll/engine/executions.cc
libtern_la_SOURCES += coll/flat/slots.cc
libtern_la_SOURCES += coll/flat/move.cc
libtern_la_SOURCES += coll/flat/reduce.cc
libtern_la_SOURCES += coll/flat/direct.cc
libtern_la_SOURCES += coll/flat/flat.cc
libtern_la_SOURCES += coll/coll_flat.cc
libtern_la_SOURCES += coll/flat/queue.cc
libtern_la_SOURCES += coll/flat/call.cc
libtern_la_SOURCES += coll/coll_flight.cc
libtern_la_SOURCES += coll/flat/flights.cc
libtern_la_SOURCES += coll/flat/on_device.cc
libtern_la_SOURCES += coll/flat/staged.cc
libtern_la_SOURCES += coll/coll.cc

algorithms_generated = gen/coll/emitters.hpp gen/coll/algorithms.cc gen/coll/algorithm_words.cc
EXTRA_DIST += coll/algorithms/generate.py
BUILT_SOURCES += gen/coll.stamp
CLEANFILES += gen/coll.stamp $(algorithms_generated)
# The recipe makes make look at their times again; it makes anew what was removed.
$(algorithms_generated): gen/coll.stamp
	@test -f $@ || { rm -f gen/coll.stamp; $(MAKE) gen/coll.stamp; }
# The folder's own time changes where a file comes or goes.
gen/coll.stamp: $(srcdir)/coll/algorithms $(wildcard $(srcdir)/coll/algorithms/*.cc) \
  $(srcdir)/coll/algorithms/generate.py $(srcdir)/src/base/generated.py
	$(AM_V_GEN)$(PYTHON) $(srcdir)/coll/algorithms/generate.py --folder $(srcdir)/coll/algorithms --out gen/coll
	@touch $@
