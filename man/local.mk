# SPDX-License-Identifier: Apache-2.0
# Manual pages: dist_man_MANS += man/man1/NAME.1
dist_man_MANS += man/man1/mpicc.1 man/man1/tern_info.1
dist_man_MANS += man/man3/MPIX_Boot_provide.3 man/man3/MPIX_Comm_interrupt.3
dist_man_MANS += man/man3/MPIX_Continue.3
dist_man_MANS += man/man3/MPIX_GPU_query_support.3 man/man3/MPIX_Query_cuda_support.3
dist_man_MANS += man/man7/tern.7 man/man7/tern_abi.7 man/man7/tern_gpu.7 man/man7/tern_io.7
dist_man_MANS += man/man7/tern_torch.7 man/man7/tern_troubleshooting.7

# Links: other names of a page.
continue_pages = MPIX_Continueall.3 MPIX_Continue_init.3 MPIX_Continue_get_failed.3
query_pages = MPIX_Query_hip_support.3 MPIX_Query_rocm_support.3 MPIX_Query_ze_support.3
alias_pages = mpiexec.1 mpicxx.1 mpic++.1 $(continue_pages) $(query_pages)
if HAVE_FORTRAN
alias_pages += mpifort.1 mpif90.1 mpif77.1
endif
man_MANS += $(alias_pages)
CLEANFILES += $(alias_pages)
mpiexec.1: config.status
	$(AM_V_GEN)echo '.so man1/mpirun.1' > $@
$(continue_pages): config.status
	$(AM_V_GEN)echo '.so man3/MPIX_Continue.3' > $@
$(query_pages): config.status
	$(AM_V_GEN)echo '.so man3/MPIX_Query_cuda_support.3' > $@
mpicxx.1 mpic++.1 mpifort.1 mpif90.1 mpif77.1: config.status
	$(AM_V_GEN)echo '.so man1/mpicc.1' > $@
