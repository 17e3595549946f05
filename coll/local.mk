# SPDX-License-Identifier: Apache-2.0
# Collectives: schedules, algorithms, selection, engines and tools.
coll_sources += coll/schedule/schedule.cc
coll_sources += coll/schedule/neighbors.cc
coll_sources += coll/schedule/builder.cc
coll_sources += coll/schedule/levels.cc
coll_sources += coll/schedule/level_words.cc
coll_sources += coll/engine/places.cc
coll_sources += coll/laboratory/verify/symbol.cc
coll_sources += coll/laboratory/verify/verify.cc
coll_sources += coll/laboratory/verify/images.cc
coll_sources += coll/laboratory/verify/verify_run.cc
coll_sources += coll/laboratory/verify/verify_order.cc
coll_sources += coll/laboratory/verify/verify_result.cc
coll_sources += coll/laboratory/verify/verify_remote.cc
coll_sources += coll/laboratory/verify/verify_lowered.cc
coll_sources += coll/lower/order.cc
coll_sources += coll/lower/fuse.cc
coll_sources += coll/lower/lower.cc
coll_sources += coll/topology/text.cc
coll_sources += coll/topology/machines.cc
coll_sources += coll/laboratory/simulate/network.cc
coll_sources += coll/laboratory/simulate/simulate.cc
coll_sources += coll/algorithms/table.cc
# The other files of coll/algorithms, compiled as one source.
nodist_libtern_la_SOURCES += gen/coll/algorithms.cc
nodist_libtern_la_SOURCES += gen/coll/algorithm_words.cc
coll_sources += coll/laboratory/timeline.cc
coll_sources += coll/laboratory/validate.cc
coll_sources += coll/engine/geometry.cc
coll_sources += coll/engine/bound.cc
coll_sources += coll/engine/cache.cc
coll_sources += coll/select/model.cc
coll_sources += coll/select/graph_model.cc
coll_sources += coll/select/rules.cc
coll_sources += coll/select/select.cc
coll_sources += coll/select/contest.cc
coll_sources += coll/select/memo.cc
coll_sources += coll/tuner.cc
coll_sources += coll/engine/check.cc
coll_sources += coll/engine/refusal.cc
coll_sources += coll/engine/refusal_notices.cc
coll_sources += coll/comm_state.cc
coll_sources += coll/engine/coll_request.cc
coll_sources += coll/engine/engine_host.cc
coll_sources += coll/engine/operation.cc
coll_sources += coll/engine/kept_operation.cc
coll_sources += coll/engine/pairs.cc
coll_sources += coll/engine/executions.cc
coll_sources += coll/flat/sliced.cc
coll_sources += coll/flat/slots.cc
coll_sources += coll/flat/domains.cc
coll_sources += coll/flat/two_level.cc
coll_sources += coll/flat/parts.cc
coll_sources += coll/flat/move.cc
coll_sources += coll/flat/reduce.cc
coll_sources += coll/flat/direct.cc
coll_sources += coll/flat/flat.cc
coll_sources += coll/shared_collectives.cc
coll_sources += coll/flat/queue.cc
coll_sources += coll/flat/call.cc
coll_sources += coll/flat/epochs.cc
coll_sources += coll/shared_flights.cc
coll_sources += coll/flat/flights.cc
coll_sources += coll/flat/device_links.cc
coll_sources += coll/flat/on_device.cc
coll_sources += coll/flat/on_device_move.cc
coll_sources += coll/flat/on_device_reduce.cc
coll_sources += coll/flat/staged.cc
coll_sources += coll/gpu/placed.cc
coll_sources += coll/gpu/pieces.cc
coll_sources += coll/gpu/device_reports.cc
coll_sources += coll/gpu/team_memory.cc
coll_sources += coll/gpu/team_calls.cc
coll_sources += coll/gpu/team_schedules.cc
coll_sources += coll/gpu/wait_log.cc
coll_sources += coll/gpu/team.cc
coll_sources += coll/gpu/teams.cc
coll_sources += coll/gpu/teams_multicast.cc
coll_sources += coll/gpu/multicast.cc
coll_sources += coll/gpu/multicast_run.cc
coll_sources += coll/gpu/stream_run.cc
coll_sources += coll/gpu/stream_calls.cc
coll_sources += coll/gpu/in_stream.cc
coll_sources += coll/gpu/lanes.cc
coll_sources += coll/gpu/lines.cc
coll_sources += coll/gpu/exchange_run.cc
coll_sources += coll/gpu/push_run.cc
coll_sources += coll/gpu/way.cc
coll_sources += coll/gpu/verdicts.cc
coll_sources += coll/gpu/program.cc
coll_sources += coll/gpu/kernel_run.cc
coll_sources += coll/gpu/device_calls.cc
coll_sources += coll/team_collectives.cc
coll_sources += coll/stream_collectives.cc
coll_sources += coll/context.cc
coll_sources += coll/coll.cc
coll_sources += coll/agreed_forests.cc
coll_sources += coll/topology/generators.cc
coll_sources += coll/topology/routes.cc
coll_sources += coll/topology/canonical.cc
coll_sources += coll/topology/pci_ways.cc
coll_sources += coll/topology/host_network.cc
coll_sources += coll/topology/host_graph.cc
coll_sources += coll/topology/hosts.cc
topologiesdir = $(datadir)/tern/topologies
dist_topologies_DATA = coll/topology/examples/2x8-a100-rails.topo coll/topology/examples/2x8-h100-rails.topo \
  coll/topology/examples/dgx-1v.topo coll/topology/examples/dgx-a100.topo coll/topology/examples/mi250.topo \
  coll/topology/examples/pcie-8.topo
coll_sources += coll/exchange/xml.cc
coll_sources += coll/exchange/msccl_file.cc
coll_sources += coll/exchange/msccl_order.cc
coll_sources += coll/exchange/msccl_read.cc
coll_sources += coll/exchange/arrange.cc
coll_sources += coll/exchange/msccl_write.cc
coll_sources += coll/exchange/nccl_topology.cc
coll_sources += coll/laboratory/simulate/pattern.cc
coll_sources += coll/laboratory/simulate/classes.cc
coll_sources += coll/laboratory/simulate/run.cc
coll_sources += coll/laboratory/simulate/workload.cc
coll_sources += coll/laboratory/simulate/group_times.cc
coll_sources += coll/laboratory/simulate/chakra.cc
coll_sources += coll/exchange/et.cc
coll_sources += coll/laboratory/simulate/predict.cc
coll_sources += coll/laboratory/search/place.cc
coll_sources += coll/laboratory/search/trained_model.cc
coll_sources += coll/laboratory/search/model_split.cc
coll_sources += coll/laboratory/search/split_costs.cc
coll_sources += coll/forest/graph.cc
coll_sources += coll/forest/flow.cc
coll_sources += coll/forest/bound.cc
coll_sources += coll/forest/split.cc
coll_sources += coll/forest/pack.cc
coll_sources += coll/forest/certify.cc
coll_sources += coll/forest/plan.cc
coll_sources += coll/forest/form.cc
coll_sources += coll/forest/forest_plan.cc
coll_sources += coll/forest/store.cc
coll_sources += coll/forest/hierarchy.cc
coll_sources += coll/exchange/json.cc
coll_sources += coll/exchange/mscclpp_file.cc
coll_sources += coll/exchange/mscclpp_read.cc
coll_sources += coll/exchange/read_plan.cc

# Engines and wires passed by recorded runs on a GPU.
EXTRA_DIST += coll/gpu/verdicts.py coll/gpu/verdicts.txt
BUILT_SOURCES += gen/gpu_verdicts.inc
CLEANFILES += gen/gpu_verdicts.inc
gen/gpu_verdicts.inc: $(srcdir)/coll/gpu/verdicts.py $(srcdir)/coll/gpu/verdicts.txt $(srcdir)/coll/gpu/engine.hpp \
  $(srcdir)/src/base/wire.hpp
	$(AM_V_GEN)$(MKDIR_P) gen && $(PYTHON) $(srcdir)/coll/gpu/verdicts.py --record $(srcdir)/coll/gpu/verdicts.txt --out $@

algorithms_generated = gen/coll/emitters.hpp gen/coll/algorithms.cc gen/coll/algorithm_words.cc
EXTRA_DIST += coll/algorithms/generate.py
BUILT_SOURCES += gen/coll.stamp
CLEANFILES += gen/coll.stamp $(algorithms_generated)
# The recipe makes make check the timestamps again, and restores a removed file.
$(algorithms_generated): gen/coll.stamp
	@test -f $@ || { rm -f gen/coll.stamp; $(MAKE) gen/coll.stamp; }
# The folder's time changes when a file is added or removed.
gen/coll.stamp: $(srcdir)/coll/algorithms $(wildcard $(srcdir)/coll/algorithms/*.cc) \
  $(srcdir)/coll/algorithms/generate.py $(srcdir)/src/base/generated.py
	$(AM_V_GEN)$(PYTHON) $(srcdir)/coll/algorithms/generate.py --folder $(srcdir)/coll/algorithms --out gen/coll
	@touch $@
