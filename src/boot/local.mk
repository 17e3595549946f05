# SPDX-License-Identifier: Apache-2.0
# Bootstrap of ranks: src/boot/README.md.
boot_sources += \
  src/boot/boot.cc src/boot/boot.hpp src/boot/ways.hpp \
  src/boot/calls.cc src/boot/calls.hpp \
  src/boot/fake.cc src/boot/fake.hpp \
  src/boot/known_worlds.cc src/boot/known_worlds.hpp \
  src/boot/mpirun_boot.cc \
  src/boot/nodes.cc src/boot/nodes.hpp \
  src/boot/pmix_boot.cc \
  src/boot/pmix_client.cc src/boot/pmix_client.hpp \
  src/boot/pmix_deaths.cc src/boot/pmix_deaths.hpp \
  src/boot/pmix_library.cc src/boot/pmix_library.hpp \
  src/boot/pmix_value.cc src/boot/pmix_value.hpp \
  src/boot/process_set.cc src/boot/process_set.hpp \
  src/boot/questions.cc src/boot/questions.hpp \
  src/boot/rank_tree.cc src/boot/rank_tree.hpp \
  src/boot/provided_boot.cc src/boot/provided.hpp \
  src/boot/shared_job.cc src/boot/shared_job.hpp \
  src/boot/singleton_boot.cc \
  src/boot/spawn_request.cc src/boot/spawn_request.hpp \
  src/boot/site.cc src/boot/site.hpp
