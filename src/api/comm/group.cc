// SPDX-License-Identifier: Apache-2.0
// The group functions of MPI-5.0 section 7.3.
#include "core/group.hpp"

#include <algorithm>
#include <vector>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/group.hpp"
#include "api/process.hpp"

namespace tern::api {

void publish(core::Ref<core::Group> group, MPI_Group* handle) {
  if (group->size() == 0) {
    *handle = MPI_GROUP_EMPTY;
    return;
  }
  *handle = reinterpret_cast<MPI_Group>(any_process().handles.insert(*group));
  (void)group.leak();
}

namespace {

using core::Group;

/// The new group inherits the session of `from`.
void give(core::Ref<Group> made, const Group& from, MPI_Group* handle) {
  made->session = from.session;
  publish(std::move(made), handle);
}

int check_rank(const Group& group, int rank, int position, const char* array) {
  if (rank >= 0 && rank < group.size()) return MPI_SUCCESS;
  if (group.size() == 0)
    return fail(MPI_ERR_RANK, "%s[%d] is %d, but the group is empty", array, position, rank);
  return fail(MPI_ERR_RANK, "%s[%d] is %d, but the group has ranks 0 to %d", array, position, rank,
              group.size() - 1);
}

int check_distinct(const std::vector<int>& ranks) {
  if (std::is_sorted(ranks.begin(), ranks.end(), std::less_equal<>())) return MPI_SUCCESS;
  std::vector<int> sorted(ranks);
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return MPI_SUCCESS;
  return fail(MPI_ERR_RANK, "rank %d is named twice; a group holds each process once", *twice);
}

int check_count(int n) {
  return n >= 0 ? MPI_SUCCESS : fail(MPI_ERR_ARG, "n is %d, but must not be negative", n);
}

int list(const Group& group, int n, const int* ranks, std::vector<int>* out) {
  int code = check_count(n);
  for (int i = 0; i < n && code == MPI_SUCCESS; ++i) code = check_rank(group, ranks[i], i, "ranks");
  if (code != MPI_SUCCESS) return code;
  out->assign(ranks, ranks + n);
  return check_distinct(*out);
}

/// Expands triplets (first, last, stride); `last` need not be a member.
int expand(const Group& group, int n, const int ranges[][3], std::vector<int>* out) {
  if (const int code = check_count(n); code != MPI_SUCCESS) return code;
  if (ranges == nullptr && n > 0)
    return fail(MPI_ERR_ARG, "ranges is a null pointer, but n is %d", n);
  for (int i = 0; i < n; ++i) {
    const int first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
    if (stride == 0)
      return fail(MPI_ERR_ARG, "ranges[%d] is (%d, %d, 0); a stride must not be 0", i, first, last);
    if ((stride > 0 && last < first) || (stride < 0 && last > first))
      return fail(MPI_ERR_ARG,
                  "ranges[%d] is (%d, %d, %d): the stride leads away from the last rank", i, first,
                  last, stride);
    const int64_t step = stride;
    for (int64_t rank = first; stride > 0 ? rank <= last : rank >= last; rank += step) {
      if (rank < 0 || rank >= group.size())
        return fail(MPI_ERR_RANK,
                    "ranges[%d] is (%d, %d, %d) and names rank %lld, but the group has %d ranks", i,
                    first, last, stride, static_cast<long long>(rank), group.size());
      out->push_back(static_cast<int>(rank));
    }
  }
  return check_distinct(*out);
}

core::Ref<Group> including(const Group& group, const std::vector<int>& ranks) {
  core::GroupBuilder builder;
  for (const int rank : ranks) builder.add(group.peer_index(rank));
  return builder.finish();
}

core::Ref<Group> excluding(const Group& group, std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  core::GroupBuilder builder;
  auto next = ranks.begin();
  for (int rank = 0; rank < group.size(); ++rank) {
    if (next != ranks.end() && *next == rank)
      ++next;
    else
      builder.add(group.peer_index(rank));
  }
  return builder.finish();
}

}  // namespace

int group_size(Group& group, int* size) noexcept {
  *size = group.size();
  return MPI_SUCCESS;
}

int group_rank(Group& group, int* rank) noexcept {
  *rank = group.rank_of(static_cast<uint32_t>(the_process->world_rank));
  return MPI_SUCCESS;
}

int group_translate_ranks(Group& group1, int n, const int* ranks1, Group& group2,
                          int* ranks2) noexcept {
  int code = check_count(n);
  for (int i = 0; i < n && code == MPI_SUCCESS; ++i)
    if (ranks1[i] != MPI_PROC_NULL) code = check_rank(group1, ranks1[i], i, "ranks1");
  for (int i = 0; i < n && code == MPI_SUCCESS; ++i)
    ranks2[i] =
        ranks1[i] == MPI_PROC_NULL ? MPI_PROC_NULL : group2.rank_of(group1.peer_index(ranks1[i]));
  return code;
}

int group_compare(Group& group1, Group& group2, int* result) noexcept {
  *result = core::group_compare(group1, group2);
  return MPI_SUCCESS;
}

int group_union(Group& group1, Group& group2, MPI_Group* newgroup) noexcept {
  return attempt([&] {
    give(core::group_union(group1, group2), group1, newgroup);
    return MPI_SUCCESS;
  });
}

int group_intersection(Group& group1, Group& group2, MPI_Group* newgroup) noexcept {
  return attempt([&] {
    give(core::group_intersection(group1, group2), group1, newgroup);
    return MPI_SUCCESS;
  });
}

int group_difference(Group& group1, Group& group2, MPI_Group* newgroup) noexcept {
  return attempt([&] {
    give(core::group_difference(group1, group2), group1, newgroup);
    return MPI_SUCCESS;
  });
}

int group_incl(Group& group, int n, const int* ranks, MPI_Group* newgroup) noexcept {
  return attempt([&] {
    std::vector<int> chosen;
    const int code = list(group, n, ranks, &chosen);
    if (code == MPI_SUCCESS) give(including(group, chosen), group, newgroup);
    return code;
  });
}

int group_excl(Group& group, int n, const int* ranks, MPI_Group* newgroup) noexcept {
  return attempt([&] {
    std::vector<int> chosen;
    const int code = list(group, n, ranks, &chosen);
    if (code == MPI_SUCCESS) give(excluding(group, std::move(chosen)), group, newgroup);
    return code;
  });
}

int group_range_incl(Group& group, int n, int ranges[][3], MPI_Group* newgroup) noexcept {
  return attempt([&] {
    std::vector<int> chosen;
    const int code = expand(group, n, ranges, &chosen);
    if (code == MPI_SUCCESS) give(including(group, chosen), group, newgroup);
    return code;
  });
}

int group_range_excl(Group& group, int n, int ranges[][3], MPI_Group* newgroup) noexcept {
  return attempt([&] {
    std::vector<int> chosen;
    const int code = expand(group, n, ranges, &chosen);
    if (code == MPI_SUCCESS) give(excluding(group, std::move(chosen)), group, newgroup);
    return code;
  });
}

int group_free(MPI_Group* group) noexcept {
  // MPI_GROUP_EMPTY is a valid result, so freeing it is allowed.
  if (*group != MPI_GROUP_EMPTY) {
    Group* found = the_process->handles.find<Group>(*group);
    the_process->handles.erase(*found);
    found->release();
  }
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}

}  // namespace tern::api
