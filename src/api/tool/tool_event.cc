// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "tool" (MPI_T, MPI-5.0 section 15.3.8): events. The only event is an
// unexpected message, raised by the thread that finds the message. An event is lost if no callback
// is safe enough; the dropped handler learns the number of lost events before the next delivered
// event.
#include <algorithm>
#include <cstring>
#include <limits>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/tool/tool.hpp"
#include "base/clock.hpp"
#include "pml/wire.hpp"

namespace tern::api {
namespace {

constexpr const char* kEvent = "unexpected_message";
constexpr const char* kSource = "messages";

struct Told {
  int source;
  int tag;
  MPI_Count bytes;
};
struct Element {
  MPI_Datatype type;
  size_t at, size;
};
const Element kElements[] = {{MPI_INT, offsetof(Told, source), sizeof(int)},
                             {MPI_INT, offsetof(Told, tag), sizeof(int)},
                             {MPI_COUNT, offsetof(Told, bytes), sizeof(MPI_Count)}};
constexpr int kElementCount = 3;

constexpr MPI_T_cb_safety kLevels[] = {MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED,
                                       MPI_T_CB_REQUIRE_THREAD_SAFE,
                                       MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE};
constexpr int kLevelCount = 4;

int level_of(MPI_T_cb_safety safety) noexcept {
  const auto* found = std::find(std::begin(kLevels), std::end(kLevels), safety);
  return static_cast<int>(found - std::begin(kLevels));
}

struct Instant {
  Told told;
  MPI_Count time;
};
constinit thread_local const Instant* current = nullptr;  // non-null while callbacks run

/// The event is valid during the callback.
const Instant* find_event(MPI_T_event_instance word) noexcept {
  return reinterpret_cast<const void*>(word) == current ? current : nullptr;
}

}  // namespace

class ToolRegistration {
 public:
  struct Callback {
    MPI_T_event_cb_function* function = nullptr;
    void* data = nullptr;
  };
  Callback callbacks[kLevelCount];
  MPI_T_event_dropped_cb_function* dropped = nullptr;
  MPI_Count lost = 0;

  void tell(const Instant& instant, int needed) noexcept {
    const auto word = reinterpret_cast<MPI_T_event_registration>(this);
    const auto event = reinterpret_cast<MPI_T_event_instance>(const_cast<Instant*>(&instant));
    for (int level = needed; level < kLevelCount; ++level) {
      const Callback& one = callbacks[level];
      if (one.function == nullptr) continue;
      if (lost > 0 && dropped != nullptr) dropped(lost, word, 0, kLevels[needed], one.data);
      lost = 0;
      return one.function(event, word, kLevels[needed], one.data);
    }
    if (callbacks[0].function != nullptr) ++lost;  // not callable from inside MPI
  }
};

namespace {

std::vector<std::shared_ptr<ToolRegistration>>& registrations() noexcept {
  return instance().tool.registrations;
}

/// A callback already holds the lock.
class RegistrationsLock {
 public:
  RegistrationsLock() noexcept : lock_(instance().tool.registrations_mutex, std::defer_lock) {
    if (current == nullptr) lock_.lock();
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

class Teller final : public pml::EarlyWatcher {
 public:
  void came_early(const pml::EarlyMessage& message) noexcept override {
    if ((message.context & 3) != static_cast<uint32_t>(pml::Plane::kUser)) return;
    core::Process& process = *the_process;
    const auto source = static_cast<int>(process.peer(message.peer).rank);
    const Instant instant{{source, message.tag, static_cast<MPI_Count>(message.bytes)}, now_ns()};
    const bool threaded = process.threaded();
    const int needed =
        level_of(threaded ? MPI_T_CB_REQUIRE_THREAD_SAFE : MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    const RegistrationsLock lock;
    const Instant* outer = current;
    current = &instant;
    for (size_t i = 0; i < registrations().size(); ++i) {
      const std::shared_ptr<ToolRegistration> one = registrations()[i];
      one->tell(instant, needed);
    }
    current = outer;
  }
};

ToolRegistration* find_registration(MPI_T_event_registration word) noexcept {
  for (const auto& one : registrations())
    if (reinterpret_cast<const void*>(word) == one.get()) return one.get();
  return nullptr;
}

/// ToolLock also locks the registrations, because message arrivals read the list.
struct ToolLock {
  RegistrationsLock registrations;
  std::lock_guard<std::mutex> tool{instance().tool.mutex};
};

template <class Act>
int on_registration(MPI_T_event_registration word, Act&& act) noexcept {
  if (!tool_ready()) return MPI_T_ERR_NOT_INITIALIZED;
  const ToolLock lock;
  ToolRegistration* found = find_registration(word);
  if (found == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  return act(*found);
}

int give_no_info(MPI_Info* info) noexcept {
  return guarded([&] {
    auto made = core::Ref<core::Info>::adopt(new core::Info);
    *info = reinterpret_cast<MPI_Info>(any_process().handles.insert(*made));
    static_cast<void>(made.leak());
  });
}

int no_event() noexcept {
  return tool_ready() ? MPI_T_ERR_INVALID_HANDLE : MPI_T_ERR_NOT_INITIALIZED;
}

}  // namespace

void watch_events() noexcept {
  static Teller teller;
  if (the_process == nullptr) return;
  for (const auto& channel : the_process->channels())
    if (channel->pml != nullptr)
      channel->pml->watch_early(registrations().empty() ? nullptr : &teller);
}

void forget_events() noexcept {
  const ToolLock lock;
  registrations().clear();
  watch_events();
}

int t_event_get_num(int* num_events) noexcept {
  const int code = check_out(num_events);
  if (code == MPI_SUCCESS) *num_events = 1;
  return code;
}

int t_event_get_index(const char* name, int* event_index) noexcept {
  if (!tool_ready()) return MPI_T_ERR_NOT_INITIALIZED;
  if (name == nullptr || event_index == nullptr) return MPI_T_ERR_INVALID;
  if (std::strcmp(name, kEvent) != 0) return MPI_T_ERR_INVALID_NAME;
  *event_index = 0;
  return MPI_SUCCESS;
}

int t_event_get_info(int event_index, char* name, int* name_len, int* verbosity,
                     MPI_Datatype* array_of_datatypes, MPI_Aint* array_of_displacements,
                     int* num_elements, MPI_T_enum* enumtype, MPI_Info* info, char* desc,
                     int* desc_len, int* bind) noexcept {
  const int code = check_index(event_index, 1);
  if (code != MPI_SUCCESS) return code;
  give(kEvent, name, name_len);
  give("a message arrived before the receive: source (rank in MPI_COMM_WORLD), tag, bytes", desc,
       desc_len);
  give_value(verbosity, MPI_T_VERBOSITY_USER_DETAIL);
  const int room = num_elements == nullptr ? 0 : std::min(*num_elements, kElementCount);
  for (int i = 0; i < room; ++i) {
    if (array_of_datatypes != nullptr) array_of_datatypes[i] = kElements[i].type;
    if (array_of_displacements != nullptr)
      array_of_displacements[i] = static_cast<MPI_Aint>(kElements[i].at);
  }
  give_value(num_elements, kElementCount);
  if (enumtype != nullptr) *enumtype = MPI_T_ENUM_NULL;
  give_value(bind, MPI_T_BIND_NO_OBJECT);
  return info == nullptr ? MPI_SUCCESS : give_no_info(info);
}

int t_event_handle_alloc(int event_index, void*, MPI_Info,
                         MPI_T_event_registration* event_registration) noexcept {
  const int code = check_index(event_index, 1);
  if (code != MPI_SUCCESS) return code;
  if (event_registration == nullptr) return MPI_T_ERR_INVALID;
  const ToolLock lock;
  if (guarded([&] { registrations().push_back(std::make_shared<ToolRegistration>()); }) !=
      MPI_SUCCESS)
    return MPI_T_ERR_OUT_OF_HANDLES;
  *event_registration = reinterpret_cast<MPI_T_event_registration>(registrations().back().get());
  watch_events();
  return MPI_SUCCESS;
}

int t_event_handle_free(MPI_T_event_registration event_registration, void* user_data,
                        MPI_T_event_free_cb_function* free_cb_function) noexcept {
  const int code = on_registration(event_registration, [](ToolRegistration& found) {
    std::erase_if(registrations(), [&](const auto& one) { return one.get() == &found; });
    watch_events();
    return MPI_SUCCESS;
  });
  if (code == MPI_SUCCESS && free_cb_function != nullptr)
    free_cb_function(event_registration, MPI_T_CB_REQUIRE_NONE, user_data);
  return code;
}

int t_event_register_callback(MPI_T_event_registration event_registration,
                              MPI_T_cb_safety cb_safety, MPI_Info, void* user_data,
                              MPI_T_event_cb_function* event_cb_function) noexcept {
  return on_registration(event_registration, [&](ToolRegistration& found) {
    const int level = level_of(cb_safety);
    if (level == kLevelCount) return MPI_T_ERR_INVALID;
    found.callbacks[level] = {event_cb_function, user_data};
    return MPI_SUCCESS;
  });
}

int t_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                MPI_T_event_dropped_cb_function* dropped_cb_function) noexcept {
  return on_registration(event_registration, [&](ToolRegistration& found) {
    found.dropped = dropped_cb_function;
    return MPI_SUCCESS;
  });
}

int t_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info) noexcept {
  return on_registration(event_registration, [](ToolRegistration&) { return MPI_SUCCESS; });
}
int t_event_handle_get_info(MPI_T_event_registration event_registration,
                            MPI_Info* info_used) noexcept {
  if (info_used == nullptr) return MPI_T_ERR_INVALID;
  return on_registration(event_registration,
                         [&](ToolRegistration&) { return give_no_info(info_used); });
}
int t_event_callback_set_info(MPI_T_event_registration event_registration,
                              MPI_T_cb_safety cb_safety, MPI_Info) noexcept {
  if (level_of(cb_safety) == kLevelCount) return MPI_T_ERR_INVALID;
  return on_registration(event_registration, [](ToolRegistration&) { return MPI_SUCCESS; });
}
int t_event_callback_get_info(MPI_T_event_registration event_registration,
                              MPI_T_cb_safety cb_safety, MPI_Info* info_used) noexcept {
  if (info_used == nullptr || level_of(cb_safety) == kLevelCount) return MPI_T_ERR_INVALID;
  return on_registration(event_registration,
                         [&](ToolRegistration&) { return give_no_info(info_used); });
}

int t_event_read(MPI_T_event_instance event_instance, int element_index, void* buffer) noexcept {
  const Instant* event = find_event(event_instance);
  if (event == nullptr) return no_event();
  const int code = check_index(element_index, kElementCount);
  if (code != MPI_SUCCESS) return code;
  if (buffer == nullptr) return MPI_T_ERR_INVALID;
  const Element& element = kElements[element_index];
  std::memcpy(buffer, reinterpret_cast<const char*>(&event->told) + element.at, element.size);
  return MPI_SUCCESS;
}

int t_event_copy(MPI_T_event_instance event_instance, void* buffer) noexcept {
  const Instant* event = find_event(event_instance);
  if (event == nullptr) return no_event();
  if (buffer == nullptr) return MPI_T_ERR_INVALID;
  std::memcpy(buffer, &event->told, sizeof event->told);
  return MPI_SUCCESS;
}

int t_event_get_timestamp(MPI_T_event_instance event_instance,
                          MPI_Count* event_timestamp) noexcept {
  const Instant* event = find_event(event_instance);
  if (event == nullptr) return no_event();
  give_value(event_timestamp, event->time);
  return MPI_SUCCESS;
}

int t_event_get_source(MPI_T_event_instance event_instance, int* source_index) noexcept {
  if (find_event(event_instance) == nullptr) return no_event();
  give_value(source_index, 0);
  return MPI_SUCCESS;
}

int t_source_get_num(int* num_sources) noexcept {
  const int code = check_out(num_sources);
  if (code == MPI_SUCCESS) *num_sources = 1;
  return code;
}

int t_source_get_info(int source_index, char* name, int* name_len, char* desc, int* desc_len,
                      MPI_T_source_order* ordering, MPI_Count* ticks_per_second,
                      MPI_Count* max_ticks, MPI_Info* info) noexcept {
  const int code = check_index(source_index, 1);
  if (code != MPI_SUCCESS) return code;
  give(kSource, name, name_len);
  give("point-to-point messages of this process, in order of arrival", desc, desc_len);
  give_value(ordering, MPI_T_SOURCE_ORDERED);
  give_value(ticks_per_second, 1000000000);
  give_value(max_ticks, std::numeric_limits<MPI_Count>::max());
  return info == nullptr ? MPI_SUCCESS : give_no_info(info);
}

int t_source_get_timestamp(int source_index, MPI_Count* timestamp) noexcept {
  const int code = check_index(source_index, 1);
  if (code != MPI_SUCCESS) return code;
  give_value(timestamp, now_ns());
  return MPI_SUCCESS;
}

}  // namespace tern::api
