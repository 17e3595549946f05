// SPDX-License-Identifier: Apache-2.0
// wheel_conflict: environments with Tern's wheel alone, with a second MPI's wheel, and after the
// removal of the second.
#include "base/wheels.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tern {
namespace {

class WheelsTest : public testing::Test {
 protected:
  WheelsTest() {
    std::string name = testing::TempDir() + "wheels.XXXXXX";
    prefix = ::mkdtemp(name.data());
    for (const char* file : {"bin/mpirun", "bin/mpicc", "include/mpi.h"}) write(file, "ours");
    write("share/tern/wheel", "tern-mpi 0.1.0\nlib/libmpi_abi.so.1 7\n");
    library(7);
    package("tern_mpi-0.1.0", claims(7));
    package("numpy-2.0.0", "../../../bin/f2py,sha256=x,1\nnumpy/__init__.py,sha256=x,1\n");
  }
  ~WheelsTest() override { std::filesystem::remove_all(prefix); }

  void write(const std::string& name, const std::string& text) const {
    const std::string path = prefix + "/" + name;
    std::filesystem::create_directories(path.substr(0, path.rfind('/')));
    std::ofstream(path) << text;
  }
  void package(const std::string& name, const std::string& record) const {
    write(packages + name + ".dist-info/RECORD", record);
  }
  void library(size_t bytes) const { write("lib/libmpi_abi.so.1", std::string(bytes, 'x')); }
  static std::string claims(int bytes) {
    return "../../../bin/mpirun,sha256=x,4\n../../libmpi_abi.so.1,sha256=x," +
           std::to_string(bytes) + "\n";
  }

  std::string prefix, packages = "lib/python3.11/site-packages/";
};

TEST_F(WheelsTest, AreSilentAloneAndOutsideAWheel) {
  EXPECT_EQ(wheel_conflict(prefix), "");
  package("mpich-5.0.2", claims(9));
  EXPECT_NE(wheel_conflict(prefix), "");
  std::filesystem::remove(prefix + "/share/tern/wheel");
  EXPECT_EQ(wheel_conflict(prefix), "");
}

TEST_F(WheelsTest, NameTheOtherPackageFilesAndCure) {
  package("mpich-5.0.2", claims(9));
  EXPECT_EQ(wheel_conflict(prefix),
            "the wheels tern-mpi and mpich both own files of " + prefix +
                " (lib/libmpi_abi.so.1, bin/mpirun), and the library is Tern's: keep one, by pip "
                "uninstall mpich and pip install --force-reinstall FILE, the tern_mpi-*.whl of the "
                "release");
  library(9);
  EXPECT_NE(wheel_conflict(prefix).find("the library is mpich's"), std::string::npos);
}

TEST_F(WheelsTest, FindClaimsInOtherFoldersOfPython) {
  packages = "lib/python3.12/dist-packages/";
  package("some_mpi-1.0", claims(9));
  EXPECT_NE(wheel_conflict(prefix).find("tern-mpi and some_mpi"), std::string::npos);
}

TEST_F(WheelsTest, NameARemovedFile) {
  std::filesystem::remove(prefix + "/bin/mpirun");
  EXPECT_EQ(wheel_conflict(prefix),
            prefix +
                "/bin/mpirun of the wheel tern-mpi is missing, perhaps removed with another MPI's "
                "wheel: pip install --force-reinstall FILE, the tern_mpi-*.whl of the release");
}

TEST_F(WheelsTest, TakeBrokenRecordsWithoutHarm) {
  package("a-1", "../../../lib/libmpi_abi.so.1,");
  package("b-1", "");
  write(packages + "d-1.dist-info", "a file");
  package("c", "../../../bin/mpirun,sha256=x,4");
  EXPECT_NE(wheel_conflict(prefix).find("tern-mpi and a"), std::string::npos);
}

}  // namespace
}  // namespace tern
