// SPDX-License-Identifier: Apache-2.0
#include "tools/tern_coll/gpu.hpp"

#include <string>
#include <vector>

#include "base/error.hpp"
#include "coll/gpu/placed.hpp"
#include "coll/lower/lower.hpp"

namespace tern::coll_tool {
namespace {

void require(CUresult result, const char* function) {
  if (result != CUDA_SUCCESS) throw Error(MPI_ERR_OTHER, cuda::words_of(function, result));
}

int rank_on_host(const MpiLibrary& mpi) {
  MPI_Comm host;
  int rank = 0;
  mpi.Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  mpi.Comm_rank(host, &rank);
  mpi.Comm_free(&host);
  return rank;
}

[[noreturn]] void lack(const std::string& why) {
  throw Error(MPI_ERR_OTHER, "tune --device needs a GPU on each rank: " + why);
}

/// Call loaded_driver() before the library meets device memory.
const cuda::Driver& loaded_driver() {
  cuda::load_driver();
  const cuda::Driver* const driver = cuda::driver();
  if (driver == nullptr) lack(cuda::driver_in_words());
  return *driver;
}

}  // namespace

Gpu::Gpu(const MpiLibrary& mpi, size_t bytes) : mpi_(mpi), driver_(&loaded_driver()) {
  constexpr unsigned kNonBlocking = 1;
  int count = 0;
  CUdevice device = 0;
  CUcontext context = nullptr;
  const int rank = rank_on_host(mpi);
  if (const CUresult result = driver_->cuInit(0); result != CUDA_SUCCESS)
    lack(cuda::words_of("cuInit", result));
  require(driver_->cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (count == 0) lack("this host has none");
  require(driver_->cuDeviceGet(&device, rank % count), "cuDeviceGet");
  char name[128] = "?";
  (void)driver_->cuDeviceGetName(name, sizeof name, device);
  name_ = name;
  require(driver_->cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  require(driver_->cuCtxSetCurrent(context), "cuCtxSetCurrent");
  require(driver_->cuStreamCreateWithPriority(&stream_, kNonBlocking, 0), "cuStreamCreate");
  for (CUdeviceptr* memory : {&input_, &output_})
    require(driver_->cuMemAlloc_v2(memory, bytes), "cuMemAlloc");
  MPI_Info info;
  mpi_.Info_create(&info);
  mpi_.Info_set(info, "type", "cudaStream_t");
  mpi_.Info_set_hex(info, "value", &stream_, sizeof stream_);
  mpi_.Stream_create(info, &of_mpi_);
  mpi_.Info_free(&info);
}

Gpu::~Gpu() {
  mpi_.Stream_free(&of_mpi_);
  for (const CUdeviceptr memory : {input_, output_}) (void)driver_->cuMemFree_v2(memory);
  (void)driver_->cuStreamDestroy_v2(stream_);
}

MPI_Comm Gpu::on_stream(MPI_Comm comm) const {
  MPI_Comm made = MPI_COMM_NULL;
  mpi_.Stream_comm_create(comm, of_mpi_, &made);
  return made;
}

void Gpu::wait() const { require(driver_->cuStreamSynchronize(stream_), "cuStreamSynchronize"); }

bool runs_on_devices(const coll::Algorithm& row, int ranks) {
  if (!coll::has_schedule(row) || !coll::serves(row, ranks, nullptr)) return false;
  std::vector<coll::Schedule> all;
  for (int32_t rank = 0; rank < ranks; ++rank) all.push_back(coll::build(row, ranks, rank, 0));
  coll::Placed placed;
  std::string why_not;
  return coll::place(coll::lower(all, [](int32_t, int32_t) { return true; }), 0, &placed,
                     &why_not) &&
         placed.single_blocks;
}

}  // namespace tern::coll_tool
