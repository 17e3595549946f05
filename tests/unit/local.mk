# SPDX-License-Identifier: Apache-2.0
# Unit tests, one program a file: unit_tests += tests/unit/FOLDER/NAME_test (its source is NAME_test.cc).
unit_tests += tests/unit/core/group_test
unit_tests += tests/unit/core/communicator_test
unit_tests += tests/unit/coll/verify_test
unit_tests += tests/unit/core/datatype_test
unit_tests += tests/unit/core/op_test
