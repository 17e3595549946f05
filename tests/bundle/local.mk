# SPDX-License-Identifier: Apache-2.0
# make bundle: a directory (bundle/tern) that only needs a driver; see tests/bundle/README.md.
if HAVE_GTEST
bundle_driver_test = tests/gpu/driver/driver_test$(EXEEXT)
bundle_link_driver_test = $(CXX) $(CXXFLAGS) -static-libstdc++ -static-libgcc -o bundle/driver_test \
  $(tests_gpu_driver_driver_test_OBJECTS) $(GTEST_LIBS) -ldl -pthread
else
bundle_driver_test =
bundle_link_driver_test = rm -f bundle/driver_test
endif

bundle: all $(bundle_driver_test) tests/gpu/kernels/kernels_test$(EXEEXT) $(softcuda_files)
	$(AM_V_at)rm -rf bundle && $(MKDIR_P) bundle
	$(AM_V_at)$(MAKE) -s install DESTDIR="$(abs_builddir)/bundle/stage" >bundle/install.log 2>&1 || \
	  { tail -n 20 bundle/install.log; exit 1; }
	$(AM_V_at)$(bundle_link_driver_test)
	$(AM_V_GEN)CC="$(CC)" CXX="$(CXX)" NVCC="$(NVCC)" $(srcdir)/tests/bundle/build \
	  --tree . --installed "bundle/stage$(prefix)" --out bundle/tern
	$(AM_V_at)rm -rf bundle/stage bundle/driver_test
mostlyclean-local: bundle-clean
bundle-clean:
	rm -rf bundle
.PHONY: bundle bundle-clean
