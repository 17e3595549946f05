# SPDX-License-Identifier: Apache-2.0
# Versions before 1.0 serve requests for the same two numbers; later versions for the same first number.
set(PACKAGE_VERSION "@PACKAGE_VERSION@")
string(REGEX MATCH "^(0\\.[0-9]+|[1-9][0-9]*)" _tern_series "${PACKAGE_VERSION}")
string(LENGTH "${_tern_series}" _tern_length)
string(SUBSTRING "${PACKAGE_FIND_VERSION}.0" 0 ${_tern_length} _tern_wanted)
set(PACKAGE_VERSION_COMPATIBLE FALSE)
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
elseif(PACKAGE_FIND_VERSION VERSION_LESS PACKAGE_VERSION AND _tern_wanted STREQUAL _tern_series)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
