# SPDX-License-Identifier: Apache-2.0
# Unit tests: unit_tests += tests/unit/FOLDER/NAME_test, from NAME_test.cc, linked per folder (unity.mk). Tests in
# unit_alone link more.
tests/unit/%.$(OBJEXT): CXXFLAGS = $(TEST_CXXFLAGS)
tests/unit/%_test: private AM_LDFLAGS = $(TERN_LDFLAGS) $(TEST_LDFLAGS)
unit_tests += tests/unit/core/group_test
unit_tests += tests/unit/core/communicator_test
unit_tests += tests/unit/core/info_test
unit_tests += tests/unit/core/topology_test
unit_tests += tests/unit/core/worlds_test
unit_tests += tests/unit/trace/drain_test
unit_tests += tests/unit/trace/numbers_test
unit_tests += tests/unit/fault/agreement_test
unit_tests += tests/unit/fault/board_test
unit_tests += tests/unit/fault/host_memory_test
unit_tests += tests/unit/fault/hosts_test
unit_tests += tests/unit/io/datarep_test
unit_tests += tests/unit/io/hints_test
unit_tests += tests/unit/io/hosts_test
unit_tests += tests/unit/io/stage_test
unit_tests += tests/unit/io/stripes_test
unit_tests += tests/unit/rma/epoch_test
unit_tests += tests/unit/rma/stripes_test
unit_tests += tests/unit/rma/window_test
unit_tests += tests/unit/rma/network_test
unit_tests += tests/unit/forest/bound_test
unit_tests += tests/unit/forest/forest_test
unit_tests += tests/unit/forest/rows_test
unit_tests += tests/unit/forest/store_test
unit_tests += tests/unit/forest/agreement_test
unit_tests += tests/unit/coll/verify_test
unit_tests += tests/unit/coll/hosts_test
unit_tests += tests/unit/coll/neighbors_test
unit_tests += tests/unit/coll/places_test
unit_tests += tests/unit/coll/verdicts_test
unit_tests += tests/unit/coll/between_test
unit_tests += tests/unit/coll/remote_test
unit_tests += tests/unit/coll/lower_test
unit_tests += tests/unit/coll/topology_test
unit_tests += tests/unit/coll/exchange_test
unit_tests += tests/unit/coll/mscclpp_test
unit_tests += tests/unit/coll/canonical_test
unit_tests += tests/unit/coll/simulate_test
unit_tests += tests/unit/coll/classes_test
unit_tests += tests/unit/coll/generators_test
unit_tests += tests/unit/coll/workload_test
unit_tests += tests/unit/coll/place_test
unit_tests += tests/unit/coll/verify_classes_test
unit_tests += tests/unit/coll/validate_test
unit_tests += tests/unit/coll/chakra_test
unit_tests += tests/unit/coll/model_split_test
unit_tests += tests/unit/coll/published_test
unit_tests += tests/unit/coll/contest_test
unit_tests += tests/unit/coll/orders_test
unit_tests += tests/unit/coll/select_test
unit_tests += tests/unit/coll/graph_model_test
unit_tests += tests/unit/coll/threads_test
unit_tests += tests/unit/coll/domains_test
unit_tests += tests/unit/coll/many_test
unit_tests += tests/unit/coll/flat_test
unit_tests += tests/unit/coll/flight_test
unit_tests += tests/unit/coll/tree_test
unit_tests += tests/unit/coll/timeline_test
unit_tests += tests/unit/core/datatype_test
unit_tests += tests/unit/core/datatype_order_test
unit_tests += tests/unit/core/op_test
unit_tests += tests/unit/core/op_half_test
unit_tests += tests/unit/core/progress_test
unit_tests += tests/unit/core/signature_test
unit_tests += tests/unit/core/external32_test
unit_tests += tests/unit/boot/boot_test
unit_tests += tests/unit/boot/shared_job_test
unit_tests += tests/unit/boot/process_set_test
unit_tests += tests/unit/boot/nodes_test
unit_tests += tests/unit/boot/spawn_request_test
unit_tests += tests/unit/boot/pmix_test
unit_tests += tests/unit/topo/core_hold_test
unit_tests += tests/unit/topo/cpus_test
unit_tests += tests/unit/topo/machine_test
# mpirun's parts, without the library.
unit_tests += tests/unit/tools/binding_test
unit_tests += tests/unit/tools/door_test
unit_tests += tests/unit/tools/elsewhere_test
unit_tests += tests/unit/tools/hosts_test
unit_tests += tests/unit/tools/lines_test
unit_tests += tests/unit/tools/options_test
unit_tests += tests/unit/tools/placement_test
unit_tests += tests/unit/tools/room_test
unit_tests += tests/unit/tools/start_watch_test
unit_tests += tests/unit/tools/stuck_test
unit_tests += tests/unit/tools/wait_graph_test
tests_unit_tools_binding_test_LDADD = libmpirun.la $(GTEST_LIBS)
tests_unit_tools_door_test_LDADD = libmpirun.la $(GTEST_LIBS)
tests_unit_tools_elsewhere_test_LDADD = libmpirun.la $(GTEST_LIBS)
tests_unit_tools_hosts_test_LDADD = libmpirun.la $(GTEST_LIBS)
tests_unit_tools_lines_test_LDADD = libmpirun.la $(GTEST_LIBS)
tests_unit_tools_options_test_LDADD = libmpirun.la $(GTEST_LIBS)
tests_unit_tools_placement_test_LDADD = libmpirun.la $(GTEST_LIBS)
tests_unit_tools_room_test_LDADD = libmpirun.la $(GTEST_LIBS)
tests_unit_tools_start_watch_test_LDADD = libmpirun.la $(GTEST_LIBS)
tests_unit_tools_stuck_test_LDADD = libmpirun.la $(GTEST_LIBS)
tests_unit_tools_wait_graph_test_LDADD = libmpirun.la $(GTEST_LIBS)
unit_tests += tests/unit/coll/engine_test
unit_alone += tests/unit/abi/handles_test
unit_tests += tests/unit/core/attribute_test
# The C API in one rank: libtern lacks the entry points.
unit_alone += tests/unit/api/memory_test
unit_alone += tests/unit/api/quorum_test
unit_alone += tests/unit/api/requests_test
tests_unit_api_requests_test_LDADD = $(entry_objects) libtern.la $(GTEST_LIBS)
if UNITY
entry_objects = $(patsubst %.cc,%.lo,$(filter gen/unity/entry.% gen/unity/twin.%,$(units)))
else
entry_objects = $(abi_entry_points:.cc=.lo) $(abi_twins:.cc=.lo)
endif
# Ranks as threads: tests/unit/world.hpp.
unit_tests += tests/unit/btl/ring_test
unit_tests += tests/unit/btl/pool_test
unit_tests += tests/unit/btl/behaviour_test
unit_tests += tests/unit/btl/connection_info_test
unit_tests += tests/unit/btl/net_endpoint_test
unit_tests += tests/unit/btl/sockets_test
unit_tests += tests/unit/btl/interfaces_test
unit_tests += tests/unit/btl/options_test
unit_tests += tests/unit/btl/ports_test
unit_tests += tests/unit/pml/contexts_test
unit_tests += tests/unit/pml/matching_test
unit_tests += tests/unit/pml/channels_test
unit_tests += tests/unit/pml/protocol_test
unit_tests += tests/unit/pml/lost_peer_test
unit_tests += tests/unit/pml/protocol_table_test
unit_tests += tests/unit/pml/rdma_test
unit_tests += tests/unit/pml/small_messages_test
unit_tests += tests/unit/coll/geometry_test
unit_tests += tests/unit/coll/cut_test
unit_tests += tests/unit/base/doorbell_test
unit_tests += tests/unit/base/environment_test
unit_tests += tests/unit/base/fate_test
unit_tests += tests/unit/base/config_test
unit_tests += tests/unit/base/learnt_file_test
unit_tests += tests/unit/base/params_test
unit_tests += tests/unit/base/process_id_test
unit_tests += tests/unit/base/shared_file_test
unit_tests += tests/unit/base/wait_report_test
unit_tests += tests/unit/base/wheels_test
# tern_info and its sources.
unit_tests += tests/unit/btl/trial_test
unit_tests += tests/unit/topo/tree_test
unit_tests += tests/unit/topo/islands_test
# On the software NVML.
unit_alone += tests/unit/topo/nvml_test
EXTRA_tests_unit_topo_nvml_test_DEPENDENCIES = $(softnvml_files)
unit_alone += tests/unit/topo/machines_test
tests_unit_topo_machines_test_CPPFLAGS = $(AM_CPPFLAGS) -DTERN_MACHINES='"$(abs_top_srcdir)/tests/unit/topo/machines"'
EXTRA_tests_unit_topo_machines_test_DEPENDENCIES = $(softnvml_files)
unit_alone += tests/unit/coll/host_graph_test
tests_unit_coll_host_graph_test_CPPFLAGS = $(AM_CPPFLAGS) -DTERN_MACHINES='"$(abs_top_srcdir)/tests/unit/topo/machines"' \
  -DTERN_TOPOLOGIES='"$(abs_top_srcdir)/coll/topology/examples"'
EXTRA_tests_unit_coll_host_graph_test_DEPENDENCIES = $(softnvml_files)
unit_alone += tests/unit/api/host_graphs_test
tests_unit_api_host_graphs_test_CPPFLAGS = $(tests_unit_coll_host_graph_test_CPPFLAGS)
EXTRA_tests_unit_api_host_graphs_test_DEPENDENCIES = $(softnvml_files)
unit_alone += tests/unit/coll/learnt_test
tests_unit_coll_learnt_test_CPPFLAGS = $(AM_CPPFLAGS) -DTERN_TIMES='"$(abs_top_srcdir)/tests/unit/coll/times"'
unit_alone += tests/unit/tools/tern_info_test
tests_unit_tools_tern_info_test_LDADD = libterninfo.la libtern.la $(GTEST_LIBS)
# tern_trace.
unit_alone += tests/unit/tools/trace_read_test tests/unit/tools/trace_waits_test
tests_unit_tools_trace_read_test_LDADD = libterntrace.la libtern.la $(GTEST_LIBS)
tests_unit_tools_trace_waits_test_LDADD = libterntrace.la libtern.la $(GTEST_LIBS)
unit_tests += tests/unit/pml/hostile_test
unit_tests += tests/unit/btl/hostile_test
unit_tests += tests/unit/btl/cuda_ipc_test
if HAVE_UCX
unit_tests += tests/unit/btl/ucx_lanes_test
endif
if HAVE_LIBFABRIC
unit_tests += tests/unit/btl/ofi_rdma_test
unit_tests += tests/unit/btl/ofi_adapters_test
unit_tests += tests/unit/btl/ofi_devices_test
endif
unit_alone += tests/unit/cuda/functions_test
unit_tests += tests/unit/btl/ledger_test
unit_tests += tests/unit/btl/mail_test
unit_tests += tests/unit/btl/opened_test
unit_tests += tests/unit/boot/hostile_test
# Tern's declarations of the CUDA driver, against the toolkit's.
if HAVE_CUDA_H
unit_alone += tests/unit/cuda/api_test
tests_unit_cuda_api_test_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_HEADER_CFLAGS)
tests/unit/cuda/api_test-api_test.$(OBJEXT): $(GEN)/cuda_enumerators.inc
endif
$(GEN)/cuda_enumerators.inc: $(srcdir)/src/cuda/types.hpp
	$(AM_V_GEN)mkdir -p $(GEN) && $(GREP) -ohE '\bCU[A-Za-z0-9_]*_[A-Z0-9_]+ =' $(srcdir)/src/cuda/types.hpp | \
	  $(SED) 's/ =$$//; s/.*/SAME(&)/' > $@
CLEANFILES += $(GEN)/cuda_enumerators.inc
# Kernels on the host (tests/softcuda/shim).
unit_alone += tests/unit/cuda/reduce_kernels_test
tests_unit_cuda_reduce_kernels_test_LDADD = libtern_kernels.la libtern.la $(GTEST_LIBS)
unit_alone += tests/unit/cuda/pack_kernels_test
tests_unit_cuda_pack_kernels_test_LDADD = libtern_kernels.la libtern.la $(GTEST_LIBS)
unit_alone += tests/unit/cuda/interpret_kernel_test
tests_unit_cuda_interpret_kernel_test_LDADD = libtern_kernels.la libtern.la $(GTEST_LIBS)
unit_alone += tests/unit/cuda/push_kernel_test
tests_unit_cuda_push_kernel_test_LDADD = libtern_kernels.la libtern.la $(GTEST_LIBS)
unit_alone += tests/unit/cuda/multicast_kernel_test
tests_unit_cuda_multicast_kernel_test_LDADD = libtern_kernels.la libtern.la $(GTEST_LIBS)
unit_alone += tests/unit/cuda/exchange_kernel_test
tests_unit_cuda_exchange_kernel_test_LDADD = libtern_kernels.la libtern.la $(GTEST_LIBS)
unit_alone += tests/unit/cuda/push_bulk_test
tests_unit_cuda_push_bulk_test_LDADD = libtern_kernels.la libtern.la $(GTEST_LIBS)
unit_alone += tests/unit/cuda/push_lines_test
tests_unit_cuda_push_lines_test_LDADD = libtern_kernels.la libtern.la $(GTEST_LIBS)
# On the software driver.
unit_alone += tests/unit/cuda/kernels_test
EXTRA_tests_unit_cuda_kernels_test_DEPENDENCIES = tests/softcuda/libcuda.so.1 tests/softcuda/libtern_kernels_host.so
unit_alone += tests/unit/cuda/loaded_test
unit_alone += tests/unit/coll/stream_test
EXTRA_tests_unit_coll_stream_test_DEPENDENCIES = tests/softcuda/libcuda.so.1 tests/softcuda/libtern_kernels_host.so
unit_alone += tests/unit/coll/kernel_run_test
EXTRA_tests_unit_coll_kernel_run_test_DEPENDENCIES = tests/softcuda/libcuda.so.1 tests/softcuda/libtern_kernels_host.so
unit_alone += tests/unit/coll/lines_run_test
EXTRA_tests_unit_coll_lines_run_test_DEPENDENCIES = tests/softcuda/libcuda.so.1 tests/softcuda/libtern_kernels_host.so
unit_alone += tests/unit/cuda/blocks_test tests/unit/cuda/streams_test
unit_alone += tests/unit/pml/device_test
EXTRA_tests_unit_pml_device_test_DEPENDENCIES = tests/softcuda/libcuda.so.1 tests/softcuda/libtern_kernels_host.so
unit_alone += tests/unit/pml/device_rdma_test
EXTRA_tests_unit_pml_device_rdma_test_DEPENDENCIES = tests/softcuda/libcuda.so.1 tests/softcuda/libtern_kernels_host.so
unit_alone += tests/unit/btl/device_cache_test
EXTRA_tests_unit_btl_device_cache_test_DEPENDENCIES = tests/softcuda/libcuda.so.1 tests/softcuda/libtern_kernels_host.so
unit_alone += tests/unit/cuda/memory_test
EXTRA_tests_unit_cuda_memory_test_DEPENDENCIES = tests/softcuda/libcuda.so.1
unit_alone += tests/unit/cuda/grid_test
tests_unit_cuda_grid_test_LDADD = libtern_kernels.la libtern.la $(GTEST_LIBS)
