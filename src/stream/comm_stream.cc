// SPDX-License-Identifier: Apache-2.0
// CommStream: the caller's part (enqueue).
#include "stream/comm_stream.hpp"

#include <algorithm>
#include <new>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "core/current_call.hpp"
#include "mpix.h"
#include "stream/islands.hpp"
#include "stream/proxy.hpp"

namespace tern::stream {
namespace {

core::Progress& progress_of(const core::Communicator& communicator) noexcept {
  return communicator.channel().progress;
}

}  // namespace

CommStream* of(const core::Communicator& communicator) noexcept {
  auto* const attached = static_cast<Attached*>(communicator.stream.get());
  return attached == nullptr ? nullptr : attached->shared.get();
}

CommStream::CommStream(core::Communicator& communicator, core::Communicator& shadow,
                       core::Ref<Stream> stream, size_t chunk, const Board& board)
    : communicator_(communicator),
      shadow_(shadow),
      stream_(std::move(stream)),
      chunk_(chunk),
      board_(board),
      proxy_(communicator.process().proxy),
      team_(coll::StreamCollectives::team_of(shadow)),
      device_calls_(shadow, team_) {}

CommStream::~CommStream() {
  if (gpu() != nullptr && !keeps_board_) proxy_->give_back(stream_->device(), board_);
  if (Board spare; take_spare(&spare)) proxy_->give_back(stream_->device(), spare);
}

bool CommStream::take_spare(Board* board) noexcept {
  *board = std::exchange(spare_, {});
  return board->mail.here != nullptr;
}

// A driver tells late that a graph has gone, or its program keeps it: no one else ends its calls.
void CommStream::end_board() noexcept {
  proxy_->give_back(stream_->device(), board_);
  if (Board spare; take_spare(&spare)) proxy_->give_back(stream_->device(), spare);
  keeps_board_ = true;
  const auto is_held = [this](uint32_t number) {
    const std::lock_guard<std::mutex> guard(mutex_);
    return entries_[number - 1].captured && entries_[number - 1].call != nullptr;
  };
  for (uint32_t number = 1; number <= entries_.size(); ++number)
    if (is_held(number)) leave(number);
}

int CommStream::earlier_error() noexcept {
  if (TERN_LIKELY(error_code_.load(std::memory_order_acquire) == 0)) return MPI_SUCCESS;
  const std::lock_guard<std::mutex> guard(mutex_);
  const int code = error_code_.exchange(0);
  return code == 0 ? MPI_SUCCESS : fail(code, "%s", error_.c_str());
}

void CommStream::set_islands(std::unique_ptr<Islands> islands) noexcept {
  islands_ = std::move(islands);
  watched_.store(islands_.get(), std::memory_order_release);
}

void CommStream::forsake(const std::string& why) noexcept {
  if (team_ != nullptr) team_->forsake(why);
  if (islands_ != nullptr) islands_->here().forsake(why);
}

int CommStream::enqueue(std::shared_ptr<Call> call) noexcept {
  bool admitted = false;
  const int code = earlier_error();
  return code == MPI_SUCCESS ? put(std::move(call), &admitted) : code;
}

int CommStream::put(std::shared_ptr<Call> call, bool* admitted) noexcept {
  if (call->passes == 0) return MPI_SUCCESS;
  if (gpu() == nullptr) return run_now(*call);
  const std::lock_guard<std::mutex> guard(enqueuing_);
  *admitted = broken();
  if (broken()) return fail_broken();
  const Capture capture = [&] {
    const cuda::Current current(gpu()->device());
    return capture_of(*gpu());
  }();
  *admitted = capture.unknown;
  if (capture.unknown)
    return fail(MPIX_ERR_STREAM, "the driver does not say whether the stream is captured");
  if (capture.broken)
    return fail(MPIX_ERR_STREAM,
                "the capture of the stream was invalidated: nothing can be recorded "
                "in it any more");
  if (const int code = call->admit(capture); code != MPI_SUCCESS) return code;
  *admitted = true;
  try {
    const uint32_t number = enter(call, capture.active);
    bool told = capture.active && give_to_graph(capture, number);
    const int code = put_into_stream(*call, number, &told);
    if (code != MPI_SUCCESS && !told) leave(number);
    return code;
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory to enqueue an operation");
  }
}

int CommStream::enqueue_between_streams(const coll::Operation& operation, bool* taken) noexcept {
  *taken = false;
  if (gpu() == nullptr) return MPI_SUCCESS;
  if (team_ == nullptr && !whole_.expired()) return MPI_SUCCESS;  // it is between islands
  if (broken()) {
    *taken = true;  // the others are told
    return fail_broken();
  }
  coll::Operation on_shadow = operation;
  on_shadow.communicator = &shadow_;
  const std::lock_guard<std::mutex> guard(enqueuing_);
  std::string why_not;
  const uint32_t before = team_ == nullptr ? 0 : team_->calls.count();
  cuda::Stream stream;
  stream.handle = gpu()->queue();
  stream.stage = {board_.halves[0], board_.bytes[0]};  // not in use while the stream is here
  const int code = shadow_.channel().coll->streams().enqueue(on_shadow, stream, taken, &why_not);
  core::Process& process = communicator_.process();
  if (TERN_UNLIKELY(stream.staged) && team_->calls.is_captured(gpu()->queue()))
    keeps_board_ = true;  // the graph may outlive the communicator
  // The stream may pass a call of which only what stands behind it failed.
  if (team_ != nullptr && team_->calls.count() != before)
    proxy_->count_outstanding(gpu()->device(), 1);
  else if (*taken && code == MPI_SUCCESS && team_->calls.is_captured(gpu()->queue()))
    proxy_->count_captured(1);
  if (TERN_UNLIKELY(process.explain.on()) && code == MPI_SUCCESS && !*taken && shadow_.rank() == 0)
    process.gpus.tell_choice(process.explain,
                             strf("%s is enqueued for the host to do: %s",
                                  coll::name_of(operation.collective), why_not.c_str()));
  return code;
}

// Where the stream cannot say that it has come so far, the board stays until MPI ends.
void CommStream::put_end() noexcept {
  class End final : public Call {
   public:
    End() noexcept : Call("MPI_Comm_free") {}
    int begin(int, std::byte*, std::vector<core::Request*>*) override { return MPI_SUCCESS; }
  };
  const std::lock_guard<std::mutex> guard(enqueuing_);
  bool told = false;
  try {
    const cuda::Current current(gpu()->device());
    if (!broken() && !capture_of(*gpu()).active) {
      const auto end = std::make_shared<End>();
      const uint32_t number = enter(end, false);
      if (put_into_stream(*end, number, &told) != MPI_SUCCESS && !told) leave(number);
    }
  } catch (const std::bad_alloc&) {
    told = false;
  }
  if (!told) keeps_board_ = true;
}

uint32_t CommStream::enter(std::shared_ptr<Call> call, bool captured) {
  uint32_t number = 0;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (free_.empty()) {
      free_.reserve(entries_.size() + 1);
      entries_.emplace_back();
      free_.push_back(static_cast<uint32_t>(entries_.size()));
    }
    number = free_.back();
    free_.pop_back();
    Entry& entry = entries_[number - 1];
    entry = {};
    entry.call = std::move(call);
    entry.captured = captured;
    ++alive_;
  }
  {
    const core::ChannelLock lock(progress_of(communicator_));
    ++communicator_.pending;
  }
  if (captured) {
    proxy_->count_captured(1);
  } else {
    outstanding_.fetch_add(1, std::memory_order_relaxed);
    proxy_->count_outstanding(gpu()->device(), 1);
  }
  return number;
}

// The communicator may end here, and close() is called then.
void CommStream::leave(uint32_t number) noexcept {
  std::shared_ptr<Call> ended;
  bool captured = false;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    Entry& entry = entries_[number - 1];
    ended = std::exchange(last_, std::move(entry.call));
    captured = entry.captured;
    free_.push_back(number);  // there is room: enter()
  }
  if (captured) {
    proxy_->count_captured(-1);
  } else {
    outstanding_.fetch_sub(1, std::memory_order_relaxed);
    proxy_->count_outstanding(gpu()->device(), -1);
  }
  {
    const core::ChannelLock lock(progress_of(communicator_));
    ended.reset();  // it may hold the last of a request, which ends under that lock
    communicator_.operation_ended();
  }
  const std::lock_guard<std::mutex> guard(mutex_);
  --alive_;
}

// Where the driver cannot tell that a graph has gone, the call stays until MPI ends.
bool CommStream::give_to_graph(const Capture& capture, uint32_t number) noexcept {
  const cuda::Driver& driver = gpu()->device().driver;
  if (driver.cuUserObjectCreate == nullptr || driver.cuGraphRetainUserObject == nullptr ||
      capture.graph == nullptr)
    return true;
  GraphHold* const hold = proxy_->make_hold(*this, number);
  if (hold == nullptr) return true;
  const cuda::Current current(gpu()->device());
  CUuserObject object = nullptr;
  if (driver.cuUserObjectCreate(&object, hold, Proxy::end_hold, 1,
                                CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) != CUDA_SUCCESS) {
    proxy_->drop_hold(hold);
    return true;
  }
  if (driver.cuGraphRetainUserObject(capture.graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE) !=
      CUDA_SUCCESS)
    (void)driver.cuUserObjectRelease(object, 1);  // which ends the call
  return true;
}

// Where passes overlap, the stream brings the next one in before it waits for this one. What is not
// brought in whole makes the proxy's part fail.
int CommStream::put_into_stream(Call& call, uint32_t number, bool* told) noexcept {
  Track track(*gpu());
  const auto tell = [&](int pass) {
    call.copy_in(track, pass, board_.halves[static_cast<size_t>(pass) % 2]);
    if (TERN_UNLIKELY(track.failed())) poison(number);
    track.wait(board_.mail, 0);
    track.write(board_.mail, number);
  };
  const auto hear = [&](int pass) {
    const Word& done = board_.done[static_cast<size_t>(pass) % 2];
    track.wait(done, 1);
    track.write(done, 0);
    call.copy_out(track, pass, board_.halves[static_cast<size_t>(pass) % 2]);
  };
  tell(0);
  for (int pass = 1; pass < call.passes; ++pass) {
    if (call.overlaps) tell(pass);
    hear(pass - 1);
    if (!call.overlaps) tell(pass);
  }
  hear(call.passes - 1);
  track.flush();
  if (TERN_UNLIKELY(track.lacks_words()))
    lack_words(call, number, track.words() / 2, told);
  else
    *told = true;
  if (TERN_LIKELY(!track.failed())) return MPI_SUCCESS;
  return fail(MPIX_ERR_STREAM, "%s cannot be put into the stream: %s", call.name,
              track.failure().c_str());
}

void CommStream::poison(uint32_t number) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  entries_[number - 1].poison = MPIX_ERR_STREAM;
}

// So many pairs of a wait and a write are in the stream, in put_into_stream's order. The call of a
// graph ends with the graph.
void CommStream::lack_words(const Call& call, uint32_t number, int pairs, bool* told) noexcept {
  if (pairs == 0) return;
  broken_.store(true, std::memory_order_release);
  if (*told) return;
  *told = true;
  bool over = false;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    Entry& entry = entries_[number - 1];
    entry.cut = call.overlaps ? std::min(call.passes, pairs / 2 + 1) : (pairs + 1) / 2;
    entry.heard = pairs - entry.cut;
    over = entry.ended == entry.cut;
  }
  if (over) leave(number);
}

int CommStream::fail_broken() noexcept {
  return fail(MPIX_ERR_STREAM,
              "an earlier operation was put into the stream in part only; "
              "MPIX_Stream_comm_create makes a communicator that takes others");
}

int CommStream::begin(Call& call, int pass, std::byte* half,
                      std::vector<core::Request*>* requests) noexcept {
  try {
    return call.begin(pass, half, requests);
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory for what %s needs of the host", call.name);
  } catch (const Error& error) {
    return fail(error);
  }
}

bool CommStream::all_done(const std::vector<core::Request*>& requests) noexcept {
  return std::all_of(requests.begin(), requests.end(),
                     [](const core::Request* one) { return one->done(); });
}

// Takes the outcomes of requests that are complete.
int CommStream::collect(std::vector<core::Request*>& requests, core::Outcome* first) noexcept {
  int code = MPI_SUCCESS;
  std::string text;
  if (!requests.empty()) *first = requests.front()->outcome;
  for (core::Request* one : requests) {
    if (code == MPI_SUCCESS && one->outcome.error != MPI_SUCCESS) {
      code = one->outcome.error;
      text = one->error_text != nullptr ? *one->error_text : "the operation failed";
    }
    one->let_communicator_go();
    one->release();
  }
  requests.clear();
  return code == MPI_SUCCESS ? code : fail(code, "%s", text.c_str());
}

int CommStream::run_now(Call& call) noexcept {
  std::vector<core::Request*> requests;
  std::unique_ptr<std::byte[]> half(new (std::nothrow) std::byte[chunk_]);
  if (half == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for %zu bytes", chunk_);
  core::Progress& progress = progress_of(communicator_);
  for (int pass = 0; pass < call.passes; ++pass) {
    int code = begin(call, pass, half.get(), &requests);
    {
      const core::ChannelLock lock(progress);
      progress.wait([&] { return all_done(requests); },
                    [&](WaitReport* report) {
                      for (const core::Request* one : requests)
                        if (!one->done()) return one->describe(report);
                    });
    }
    core::Outcome first;
    const std::string why = code == MPI_SUCCESS ? std::string() : take_last_error().text;
    const int ended = collect(requests, &first);
    if (code != MPI_SUCCESS) code = fail(code, "%s", why.c_str());
    if (code == MPI_SUCCESS) code = ended;
    if (code == MPI_SUCCESS) code = call.end(pass, half.get(), first);
    if (code == MPI_SUCCESS) continue;
    call.failed(code);
    return code;
  }
  return MPI_SUCCESS;
}

bool CommStream::over() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  return closed_ && alive_ == 0 && device_calls_.over();
}

// Under the lock of the channel, which is the shadow's, too.
void CommStream::close() noexcept {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    closed_ = true;
    device_calls_.close();
  }
  shadow_.freed = true;
  if (shadow_.pending == 0) shadow_.end();  // else its last operation does
  if (islands_ != nullptr) islands_->close();
}

}  // namespace tern::stream
