// SPDX-License-Identifier: Apache-2.0
// Groups, attributes, info objects, names: local operations.
#include <algorithm>
#include <cstring>

#include "communicator.hpp"
#include "step.hpp"

namespace {

int plain(int value) { return value == MPI_UNDEFINED ? -1 : value; }

int plain_result(int result) {
  return result == MPI_IDENT ? 0 : result == MPI_SIMILAR ? 1 : result == MPI_UNEQUAL ? 2 : 3;
}

void look(Step& step, MPI_Group group, MPI_Group world) {
  int size = -1, rank = -1;
  MPI_Group_size(group, &size);
  MPI_Group_rank(group, &rank);
  step.see("size", size);
  step.see("rank", plain(rank));
  std::vector<int> ranks(static_cast<size_t>(size) + 1), others(ranks.size());
  for (int i = 0; i < size; ++i) ranks[static_cast<size_t>(i)] = i;
  if (size > 0) {
    step.ok(MPI_Group_translate_ranks(group, size, ranks.data(), world, others.data()),
            "MPI_Group_translate_ranks");
  }
  for (int i = 0; i < size; ++i) step.see("translated", plain(others[static_cast<size_t>(i)]));
}

MPI_Group any_group(Step& step, MPI_Group world, int size) {
  MPI_Group group = MPI_GROUP_NULL;
  const std::vector<int> ranks = any_ranks(step.mine, size, false);
  const int number = static_cast<int>(ranks.size());
  const int first = step.mine.below(size), last = step.mine.below(size);
  int range[1][3] = {{first, last, first <= last ? step.mine.between(1, 2) : -1}};
  switch (step.mine.below(4)) {
    case 0:
      step.ok(MPI_Group_incl(world, number, ranks.data(), &group), "MPI_Group_incl");
      break;
    case 1:
      step.ok(MPI_Group_excl(world, number, ranks.data(), &group), "MPI_Group_excl");
      break;
    case 2:
      step.ok(MPI_Group_range_incl(world, 1, range, &group), "MPI_Group_range_incl");
      break;
    default:
      step.ok(MPI_Group_range_excl(world, 1, range, &group), "MPI_Group_range_excl");
  }
  return group;
}

void groups(Step& step) {
  MPI_Group world;
  MPI_Comm_group(step.comm, &world);
  MPI_Group a = any_group(step, world, step.size), b = any_group(step, world, step.size), both[3];
  look(step, a, world);
  look(step, b, world);
  step.ok(MPI_Group_union(a, b, &both[0]), "MPI_Group_union");
  step.ok(MPI_Group_intersection(a, b, &both[1]), "MPI_Group_intersection");
  step.ok(MPI_Group_difference(a, b, &both[2]), "MPI_Group_difference");
  int result = -1;
  MPI_Group_compare(a, b, &result);
  step.see("compare", plain_result(result));
  for (MPI_Group& group : both) {
    look(step, group, world);
    MPI_Group_compare(group, a, &result);
    step.see("compare", plain_result(result));
    if (group != MPI_GROUP_EMPTY) MPI_Group_free(&group);
  }
  if (a != MPI_GROUP_EMPTY) MPI_Group_free(&a);
  if (b != MPI_GROUP_EMPTY) MPI_Group_free(&b);
  MPI_Group_free(&world);
}

int copied, deleted;

int copy(MPI_Comm, int, void* extra, void* in, void* out, int* flag) {
  ++copied;
  *flag = *static_cast<int*>(extra);
  *static_cast<void**>(out) = in;
  return MPI_SUCCESS;
}

int remove(MPI_Comm, int, void*, void*) {
  ++deleted;
  return MPI_SUCCESS;
}

void attributes(Step& step) {
  int keys[3], flags[3], value = 5;
  copied = deleted = 0;
  MPI_Comm one, two;
  MPI_Comm_dup(step.comm, &one);
  for (int i = 0; i < 3; ++i) {
    flags[i] = step.all.below(2);
    MPI_Comm_create_keyval(step.all.one_in(3) ? MPI_COMM_DUP_FN : copy, remove, &keys[i],
                           &flags[i]);
    if (!step.all.one_in(4)) step.ok(MPI_Comm_set_attr(one, keys[i], &value), "MPI_Comm_set_attr");
  }
  step.ok(MPI_Comm_dup(one, &two), "MPI_Comm_dup");
  for (int key : keys) {
    int* found = nullptr;
    int flag = -1;
    step.ok(MPI_Comm_get_attr(two, key, &found, &flag), "MPI_Comm_get_attr");
    step.see("found", flag ? 1 + (found == &value) : 0);
  }
  if (step.all.one_in(2)) {
    int flag = -1;
    void* found;
    MPI_Comm_get_attr(one, keys[0], &found, &flag);
    if (flag) step.ok(MPI_Comm_delete_attr(one, keys[0]), "MPI_Comm_delete_attr");
  }
  MPI_Comm_free(&two);
  step.see("copied", copied);
  step.see("deleted", deleted);
  MPI_Comm_free(&one);
  step.see("deleted", deleted);
  for (int& key : keys) MPI_Comm_free_keyval(&key);
  int flag = -1;
  int* bound;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);
  step.see("tag bound", flag && *bound >= 32767);
}

void info(Step& step) {
  MPI_Info info, copy;
  MPI_Info_create(&info);
  const int number = step.mine.between(0, 6);
  for (int i = 0; i < number; ++i) {
    const std::string key = "key" + std::to_string(step.mine.below(4));
    const std::string value(static_cast<size_t>(step.mine.between(1, 40)), 'v');
    if (step.mine.one_in(4)) {
      step.ok(MPI_Info_delete(info, key.c_str()), "MPI_Info_delete");
    } else {
      step.ok(MPI_Info_set(info, key.c_str(), value.c_str()), "MPI_Info_set");
    }
  }
  step.ok(MPI_Info_dup(info, &copy), "MPI_Info_dup");
  int keys = -1;
  MPI_Info_get_nkeys(copy, &keys);
  step.see("keys", keys);
  for (int i = 0; i < 4; ++i) {
    char value[16] = "";
    int length = sizeof value, flag = -1;
    step.ok(MPI_Info_get_string(copy, ("key" + std::to_string(i)).c_str(), &length, value, &flag),
            "MPI_Info_get_string");
    step.see("value", flag ? std::string(value) + " of " + std::to_string(length) : "none");
  }
  MPI_Info_free(&copy);
  MPI_Info_free(&info);
}

void names(Step& step) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1;
  MPI_Comm copy;
  MPI_Comm_dup(step.comm, &copy);
  step.ok(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length), "MPI_Comm_get_name");
  step.see("name", std::string(name));
  step.ok(MPI_Comm_set_name(copy, "a copy"), "MPI_Comm_set_name");
  step.ok(MPI_Comm_get_name(copy, name, &length), "MPI_Comm_get_name");
  step.see("name", std::string(name) + std::to_string(length));
  MPI_Comm_free(&copy);
  MPI_Type_get_name(MPI_DOUBLE, name, &length);
  step.see("name", std::string(name));
  int dims[3] = {step.all.below(2) * 2, 0, 0};
  step.ok(MPI_Dims_create(step.all.pick({4, 8, 12, 24, 36, 60}), 3, dims), "MPI_Dims_create");
  step.see("dims", dims, sizeof dims);
}

}  // namespace

const Operation kObjects[] = {{"groups", groups, 2},
                              {"attributes", attributes, 1},
                              {"info", info, 1},
                              {"names", names, 1},
                              {}};
