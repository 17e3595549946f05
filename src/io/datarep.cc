// SPDX-License-Identifier: Apache-2.0
#include "io/datarep.hpp"

#include <algorithm>
#include <climits>
#include <map>
#include <mutex>
#include <utility>

#include "base/attempt.hpp"
#include "core/datatype_build.hpp"
#include "core/external32.hpp"
#include "core/user_call.hpp"
#include "io/file_types.hpp"

namespace tern::io {
namespace {

using core::Datatype;
using core::Ref;
using core::TypeBuilder;

template <class Work>
int attempt_conversion(Work&& work) noexcept {
  return tern::attempt(work, [] { return fail(MPI_ERR_NO_MEM, "no memory to convert data"); });
}

template <class Address>
Address element(Address buffer, MPI_Count number, const Datatype& type) noexcept {
  const auto distance = static_cast<uintptr_t>(number) * static_cast<uintptr_t>(type.extent());
  return reinterpret_cast<Address>(reinterpret_cast<uintptr_t>(buffer) + distance);
}

/// A predefined type becomes as many bytes as the file has.
template <class OfItem>
Ref<Datatype> with_file_sizes(const Datatype& type, const OfItem& of_item) {
  const auto byte =
      Ref<Datatype>::adopt(TypeBuilder::predefined("a byte of a file", 1, Number::kByte, 1, 0));
  const auto bytes = [&](const Datatype& basic) {
    return TypeBuilder().contiguous(of_item(basic), *byte);
  };
  return TypeReplacer(bytes).of(type);
}

class Native final : public Representation {
 public:
  Native() : Representation("native") {}
  bool native() const noexcept override { return true; }
  MPI_Count bytes_of(const Datatype& type) const override { return type.size(); }
  Ref<Datatype> in_file(Datatype& type) const override { return Ref<Datatype>(&type); }
  int to_file(const void*, MPI_Count, MPI_Count, Datatype&, std::byte*) const noexcept override {
    return MPI_SUCCESS;
  }
  int from_file(void*, MPI_Count, MPI_Count, Datatype&, const std::byte*) const noexcept override {
    return MPI_SUCCESS;
  }
};

class External32 final : public Representation {
 public:
  External32() : Representation("external32") {}
  MPI_Count bytes_of(const Datatype& type) const override {
    return ItemSum(core::external32_size).of(type);
  }
  Ref<Datatype> in_file(Datatype& type) const override {
    return with_file_sizes(type, core::external32_size);
  }
  int to_file(const void* buffer, MPI_Count first, MPI_Count count, Datatype& type,
              std::byte* file) const noexcept override {
    core::pack_external32(type, element(buffer, first, type), count, file);
    return MPI_SUCCESS;
  }
  int from_file(void* buffer, MPI_Count first, MPI_Count count, Datatype& type,
                const std::byte* file) const noexcept override {
    core::unpack_external32(type, element(buffer, first, type), count, file);
    return MPI_SUCCESS;
  }
};

/// The type has the layout in memory of `basic`, but external32 keeps all bytes.
Ref<Datatype> uncut(const Datatype& basic) {
  const auto integer = [](const char* name, MPI_Count bytes, Number number) {
    return Ref<Datatype>::adopt(
        TypeBuilder::predefined(name, bytes, number, static_cast<int>(bytes), 0));
  };
  if (core::external32_size(basic) >= basic.size())
    return Ref<Datatype>(const_cast<Datatype*>(&basic));
  if (basic.number() != Number::kLongInt)
    return integer(basic.name.text().c_str(), basic.size(), basic.number());
  const Ref<Datatype> first = integer("long", sizeof(long), Number::kInt64),
                      second = integer("int", sizeof(int), Number::kInt32);
  const MPI_Count lengths[] = {1, 1}, places[] = {0, sizeof(long)};
  Datatype* const types[] = {first.get(), second.get()};
  return TypeBuilder().structure(2, lengths, places, types);
}

class Internal final : public Representation {
 public:
  Internal() : Representation("internal") {}
  MPI_Count bytes_of(const Datatype& type) const override { return ItemSum(file_bytes).of(type); }
  Ref<Datatype> in_file(Datatype& type) const override { return with_file_sizes(type, file_bytes); }
  int to_file(const void* buffer, MPI_Count first, MPI_Count count, Datatype& type,
              std::byte* file) const noexcept override {
    return attempt_conversion([&] {
      core::pack_external32(*TypeReplacer(uncut).of(type), element(buffer, first, type), count,
                            file);
      return MPI_SUCCESS;
    });
  }
  int from_file(void* buffer, MPI_Count first, MPI_Count count, Datatype& type,
                const std::byte* file) const noexcept override {
    return attempt_conversion([&] {
      core::unpack_external32(*TypeReplacer(uncut).of(type), element(buffer, first, type), count,
                              file);
      return MPI_SUCCESS;
    });
  }

 private:
  static MPI_Count file_bytes(const Datatype& basic) {
    return std::max(core::external32_size(basic), basic.size());
  }
};

/// A handle for the duration of a call; the user may have freed the datatype.
class HandleForCall {
 public:
  HandleForCall(core::HandleTable& handles, const Datatype& type) : handles_(handles) {
    word_ = type.handle();
    if (word_ != 0) return;
    copy_ = TypeBuilder::copy(type);
    word_ = handles_.insert(*copy_);
  }
  ~HandleForCall() {
    if (copy_.get() != nullptr) handles_.erase(*copy_);
  }
  HandleForCall(const HandleForCall&) = delete;
  HandleForCall& operator=(const HandleForCall&) = delete;
  [[nodiscard]] MPI_Datatype get() const noexcept { return reinterpret_cast<MPI_Datatype>(word_); }

 private:
  core::HandleTable& handles_;
  Ref<Datatype> copy_;
  uintptr_t word_;
};

class Registered final : public Representation {
 public:
  Registered(const std::string& name, const Conversions& conversions)
      : Representation(name), with_(conversions) {}

  bool native() const noexcept override { return !converts(false) && !converts(true); }
  MPI_Count bytes_of(const Datatype& type) const override {
    return native() ? type.size() : sizes().of(type);
  }
  Ref<Datatype> in_file(Datatype& type) const override {
    return native() ? Ref<Datatype>(&type)
                    : with_file_sizes(type, [this](const Datatype& basic) { return size(basic); });
  }
  int to_file(const void* buffer, MPI_Count first, MPI_Count count, Datatype& type,
              std::byte* file) const noexcept override {
    return attempt_conversion([&] {
      if (converts(true)) return convert(true, const_cast<void*>(buffer), first, count, type, file);
      if (const int code = check_native_size(true, type); code != MPI_SUCCESS) return code;
      type.pack(buffer, first + count, offset(first, type), file, offset(count, type));
      return static_cast<int>(MPI_SUCCESS);
    });
  }
  int from_file(void* buffer, MPI_Count first, MPI_Count count, Datatype& type,
                const std::byte* file) const noexcept override {
    return attempt_conversion([&] {
      if (converts(false))
        return convert(false, buffer, first, count, type, const_cast<std::byte*>(file));
      if (const int code = check_native_size(false, type); code != MPI_SUCCESS) return code;
      type.unpack(buffer, first + count, offset(first, type), file, offset(count, type));
      return static_cast<int>(MPI_SUCCESS);
    });
  }

 private:
  [[nodiscard]] bool converts(bool writes) const noexcept {
    return writes ? with_.write != nullptr || with_.write_large != nullptr
                  : with_.read != nullptr || with_.read_large != nullptr;
  }
  [[nodiscard]] static size_t offset(MPI_Count elements, const Datatype& type) noexcept {
    return static_cast<size_t>(elements * type.size());
  }
  [[nodiscard]] ItemSum sizes() const {
    return ItemSum([this](const Datatype& basic) { return size(basic); });
  }

  /// The error of a function of the program.
  [[nodiscard]] Failure failed(const char* function, int code, const char* of) const {
    const bool known = with_.known_code == nullptr || with_.known_code(code);
    return failure(known ? code : MPI_ERR_CONVERSION,
                   "the %s function of the data representation \"%s\" returned %d for %s", function,
                   name().c_str(), code, of);
  }

  /// The bytes of a predefined type in the file.
  [[nodiscard]] MPI_Count size(const Datatype& basic) const {
    MPI_Aint extent = -1;
    bool threw = false;
    const int code = core::user_call("the extent function of a data representation", &threw, [&] {
      return with_.extent(reinterpret_cast<MPI_Datatype>(basic.handle()), &extent, with_.extra);
    });
    if (threw) throw Error(code, take_last_error().text);
    const std::string type = basic.name.text();
    if (code != MPI_SUCCESS) throw Error(failed("extent", code, type.c_str()));
    if (extent <= 0)
      throw Error(
          MPI_ERR_CONVERSION,
          strf("the extent function of the data representation \"%s\" says that %s has %lld "
               "bytes in the file, but a type has at least 1 byte",
               name().c_str(), type.c_str(), static_cast<long long>(extent)));
    return extent;
  }

  [[nodiscard]] int check_native_size(bool writes, const Datatype& type) const {
    const MPI_Count bytes = sizes().of(type);
    if (bytes == type.size()) return MPI_SUCCESS;
    return fail(MPI_ERR_CONVERSION,
                "an element has %lld bytes in the file and %lld in memory, but the data "
                "representation \"%s\" has no function for %s, so both must be equal",
                static_cast<long long>(bytes), static_cast<long long>(type.size()), name().c_str(),
                writes ? "writing" : "reading");
  }

  [[nodiscard]] int call(bool writes, void* buffer, MPI_Datatype type, MPI_Count items,
                         std::byte* file, MPI_Offset position) const {
    bool threw = false;
    const int code =
        core::user_call("the conversion function of a data representation", &threw, [&] {
          if (auto* large = writes ? with_.write_large : with_.read_large; large != nullptr)
            return large(buffer, type, items, file, position, with_.extra);
          return (writes ? with_.write : with_.read)(buffer, type, static_cast<int>(items), file,
                                                     position, with_.extra);
        });
    if (threw || code == MPI_SUCCESS) return code;
    return fail(failed(writes ? "write" : "read", code,
                       strf("%lld items from item %lld on", static_cast<long long>(items),
                            static_cast<long long>(position))
                           .c_str()));
  }

  /// A call converts as many items as its form can count.
  [[nodiscard]] int convert(bool writes, void* buffer, MPI_Count first, MPI_Count count,
                            const Datatype& type, std::byte* file) const {
    ItemSum counts([](const Datatype&) { return 1; });
    const MPI_Count each = counts.of(type);
    const MPI_Count start = core::multiply_bytes(first, each);
    const MPI_Count items = core::multiply_bytes(count, each);
    const bool large = (writes ? with_.write_large : with_.read_large) != nullptr;
    const MPI_Count most = large ? items : INT_MAX;
    ItemSum bytes = sizes();
    const HandleForCall handle(*with_.handles, type);
    for (MPI_Count done = 0; done < items; done += most) {
      const MPI_Count before =
          done == 0 ? 0 : done / each * bytes.of(type) + bytes.of_first(done % each, type, counts);
      const int code = call(writes, buffer, handle.get(), std::min(most, items - done),
                            file + before, start + done);
      if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
  }

  const Conversions with_;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const Representation>> by_name{
      {"native", std::make_shared<const Native>()},
      {"internal", std::make_shared<const Internal>()},
      {"external32", std::make_shared<const External32>()}};
};

Registry& registry() {
  static auto& made = *new Registry;  // outlives the program's own objects
  return made;
}

}  // namespace

std::shared_ptr<const Representation> find_representation(const std::string& name) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.by_name.find(name);
  return found == all.by_name.end() ? nullptr : found->second;
}

void register_representation(const std::string& name, const Conversions& conversions) {
  constexpr size_t kMost = MPI_MAX_DATAREP_STRING - 1;
  if (name.empty()) throw Error(MPI_ERR_ARG, "datarep is empty; pass a name");
  if (name.size() > kMost)
    throw Error(MPI_ERR_ARG, strf("datarep has %zu characters, but a name has at most %zu "
                                  "(MPI_MAX_DATAREP_STRING - 1)",
                                  name.size(), kMost));
  if (conversions.extent == nullptr)
    throw Error(MPI_ERR_ARG, "dtype_file_extent_fn is a null pointer; pass a function");
  auto made = std::make_shared<const Registered>(name, conversions);
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (!all.by_name.emplace(name, std::move(made)).second)
    throw Error(MPI_ERR_DUP_DATAREP,
                strf("datarep is \"%s\", which exists already; pass another name", name.c_str()));
}

}  // namespace tern::io
