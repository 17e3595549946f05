# SPDX-License-Identifier: Apache-2.0
# Worlds that mpirun starts for its ranks (MPI_Comm_spawn): arguments, failures, ends, output, cores.
# timeout: 240
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >door.c <<'END'
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char* self;
static int is(const char* word, const char* other) { return strcmp(word, other) == 0; }

static MPI_Comm spawn(char** arguments, int ranks) {
  MPI_Comm inter;
  MPI_Comm_spawn(self, arguments, ranks, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                 MPI_ERRCODES_IGNORE);
  return inter;
}

static MPI_Comm spawn_mode(const char* mode, int ranks) {
  char* arguments[] = {"child", (char*)mode, NULL};
  return spawn(arguments, ranks);
}

static void say_cores(const char* who) {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  printf("%s", who);
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) printf(" %d", i);
  printf("\n");
  fflush(stdout);
}

static void spawn_with_keys(void) {
  const char* pairs[][2] = {{"wdir", "sub"}, {"path", "..:/no"}, {"env", "DOOR_A=1\nDOOR_B=two words"},
                            {"no_such_key", "x"}};
  char *arguments[] = {"child", "keys", NULL}, command[64];
  MPI_Comm inter;
  MPI_Info info;
  MPI_Info_create(&info);
  for (int i = 0; i < 4; ++i) MPI_Info_set(info, pairs[i][0], pairs[i][1]);
  snprintf(command, sizeof command, "%s", strrchr(self, '/') + 1);
  MPI_Comm_spawn(command, arguments, 1, info, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE);
  MPI_Info_free(&info);
  MPI_Comm_disconnect(&inter);
}

static void spawn_with_key(const char* key, const char* value, const char* mode) {
  char* arguments[] = {"child", (char*)mode, NULL};
  MPI_Comm inter;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, key, value);
  MPI_Comm_spawn(self, arguments, 1, info, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE);
  MPI_Info_free(&info);
  MPI_Comm_disconnect(&inter);
}

static void wait_for_parent(MPI_Comm parent) { MPI_Barrier(parent); }

static int child(int argc, char** argv) {
  const char* mode = argv[2];
  MPI_Comm parent;
  int rank;
  if (is(mode, "early")) exit(3);
  if (is(mode, "never")) exit(0);
  if (is(mode, "slow")) sleep(30);
  MPI_Init(NULL, NULL);
  MPI_Comm_get_parent(&parent);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (is(mode, "words"))
    for (int i = 3; i < argc; ++i) printf("word <%s>\n", argv[i]);
  if (is(mode, "cores")) say_cores("child");
  if (is(mode, "keys")) {
    char folder[300];
    printf("%s %s %s\n", strrchr(getcwd(folder, sizeof folder), '/'), getenv("DOOR_A"), getenv("DOOR_B"));
  }
  if (is(mode, "label")) printf("hello\nworld\n");
  if (is(mode, "stdin")) printf("child reads %d\n", getchar() == EOF ? 0 : 1);
  fflush(stdout);
  if (is(mode, "busy")) sleep(3);
  if (is(mode, "stuck")) MPI_Recv(&rank, 1, MPI_INT, 0, 9, parent, MPI_STATUS_IGNORE);
  if (is(mode, "sleep") || is(mode, "crash") || is(mode, "grand")) wait_for_parent(parent);
  if (is(mode, "sleep")) sleep(60);
  if (is(mode, "crash") && rank == 0) raise(SIGKILL);
  if (is(mode, "crash")) sleep(60);
  if (is(mode, "grand")) {
    MPI_Comm grandchild = spawn_mode("crash", 1);
    MPI_Barrier(grandchild);
    sleep(60);
  }
  MPI_Comm_disconnect(&parent);
  if (is(mode, "late")) raise(SIGKILL);
  if (is(mode, "outlive")) {
    sleep(1);
    printf("the child has ended\n");
  }
  MPI_Finalize();
  return is(mode, "seven") ? 7 : 0;
}

static void expect_error(int code) {
  int class, length;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  printf("class %s: %s\n", class == MPI_ERR_SPAWN ? "SPAWN" : "other", text);
  fflush(stdout);
}

/// The entries of a folder of mpirun, or its zombies.
static int count_in_mpirun(const char* what) {
  char path[300], line[300], state;
  int count = 0, parent;
  const int zombies = is(what, "zombies");
  snprintf(path, sizeof path, "/proc/%d/%s", getppid(), what);
  DIR* folder = opendir(zombies ? "/proc" : path);
  for (struct dirent* one; (one = readdir(folder)) != NULL;) {
    if (!zombies) ++count;
    if (!zombies || one->d_name[0] < '1' || one->d_name[0] > '9') continue;
    snprintf(path, sizeof path, "/proc/%s/stat", one->d_name);
    FILE* file = fopen(path, "r");
    if (file == NULL) continue;
    if (fgets(line, sizeof line, file) != NULL && strrchr(line, ')') != NULL &&
        sscanf(strrchr(line, ')'), ") %c %d", &state, &parent) == 2)
      count += state == 'Z' && parent == getppid();
    fclose(file);
  }
  closedir(folder);
  return count;
}

static void expect_count(const char* what, int before) {
  int now = -1;
  for (int i = 0; i < 100 && (now = count_in_mpirun(what)) > before; ++i) usleep(100000);
  printf("%s: %d more\n", what, now > before ? now - before : 0);
}

static void many(int spawns) {
  MPI_Comm first = spawn_mode("plain", 1);
  MPI_Comm_disconnect(&first);
  usleep(300000);
  const int descriptors = count_in_mpirun("fd"), threads = count_in_mpirun("task");
  for (int i = 0; i < spawns; ++i) {
    MPI_Comm inter = spawn_mode("plain", 1 + i % 2);
    MPI_Comm_disconnect(&inter);
  }
  expect_count("fd", descriptors);
  expect_count("task", threads);
  expect_count("zombies", 0);
}

/// The door's name: an abstract socket among mpirun's descriptors.
static int door(struct sockaddr_un* address) {
  char path[300], link[300], line[300], name[300];
  unsigned long inode, found;
  snprintf(path, sizeof path, "/proc/%d/fd", getppid());
  DIR* folder = opendir(path);
  for (struct dirent* one; (one = readdir(folder)) != NULL;) {
    snprintf(path, sizeof path, "/proc/%d/fd/%.20s", getppid(), one->d_name);
    const ssize_t length = readlink(path, link, sizeof link - 1);
    if (length < 0) continue;
    link[length] = '\0';
    if (sscanf(link, "socket:[%lu]", &inode) != 1) continue;
    FILE* all = fopen("/proc/net/unix", "r");
    while (fgets(line, sizeof line, all) != NULL)
      if (sscanf(line, "%*s %*s %*s %*s %*s %*s %lu @%s", &found, name) == 2 && found == inode &&
          strncmp(name, "tern-mpirun-", 12) == 0) {
        memset(address, 0, sizeof *address);
        address->sun_family = AF_UNIX;
        memcpy(address->sun_path + 1, name, strlen(name));
        return (int)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
      }
    fclose(all);
  }
  return 0;
}

static void attack(void) {
  struct sockaddr_un address;
  const int length = door(&address);
  unsigned long words[100] = {8, 12345};
  char answer[200] = "";
  int ends[4];
  printf("door %s\n", length > 0 ? "found" : "missing");
  for (int i = 0; i < 4; ++i) {
    ends[i] = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(ends[i], (struct sockaddr*)&address, (socklen_t)length) != 0) printf("closed\n");
  }
  if (write(ends[0], words, 5) != 5) printf("no write\n");  // cut short
  close(ends[0]);
  if (write(ends[1], words, 16) != 16) printf("no write\n");  // not a request
  const ssize_t got = read(ends[1], answer, sizeof answer - 1);
  printf("answer: %s\n", got > 8 ? answer + 8 : "none");
  words[0] = ~0ul;
  if (write(ends[2], words, sizeof words) != sizeof words) printf("no write\n");  // without end
  MPI_Comm inter = spawn_mode("plain", 1);  // ends[3] stays silent
  MPI_Comm_disconnect(&inter);
}

int main(int argc, char** argv) {
  self = argv[0];
  if (argc > 2 && is(argv[1], "child")) return child(argc, argv);
  const char* mode = argv[1];
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Init(&argc, &argv);
  if (is(mode, "words")) {
    char* words[] = {"child", "words", ":", "-n", "a b", "", "--", NULL};
    inter = spawn(words, 1);
  } else if (is(mode, "long")) {
    char* longest = malloc(100001);
    memset(longest, 'x', 100000);
    longest[100000] = '\0';
    char* words[40] = {"child", "plain"};
    for (int i = 2; i < 12; ++i) words[i] = longest;
    inter = spawn(words, 1);
  } else if (is(mode, "absent") || is(mode, "broken")) {
    char *commands[] = {self, is(mode, "absent") ? "./absent" : "./broken"};
    char *first[] = {"child", "sleep", NULL}, **arguments[] = {first, MPI_ARGV_NULL};
    int ranks[] = {2, 1}, codes[3] = {0, 0, 0};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    expect_error(MPI_Comm_spawn_multiple(2, commands, arguments, ranks, infos, 0, MPI_COMM_SELF,
                                         &inter, codes));
    printf("codes %d\n", codes[0] != 0 && codes[1] != 0 && codes[2] != 0);
  } else if (is(mode, "early") || is(mode, "never")) {
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    char* arguments[] = {"child", (char*)mode, NULL};
    expect_error(MPI_Comm_spawn(self, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                                MPI_ERRCODES_IGNORE));
  } else if (is(mode, "keys")) {
    spawn_with_keys();
  } else if (is(mode, "bound")) {
    spawn_with_key("bind_to", "core", "cores");
  } else if (is(mode, "host")) {
    spawn_with_key("host", "localhost", "label");
  } else if (is(mode, "many")) {
    many(atoi(argv[2]));
  } else if (is(mode, "attack")) {
    attack();
  } else if (is(mode, "stdin")) {
    inter = spawn_mode(mode, 1);
    MPI_Comm_disconnect(&inter);
    printf("parent reads %c\n", getchar());
  } else if (is(mode, "late")) {
    inter = spawn_mode(mode, 1);
    MPI_Comm_disconnect(&inter);
    sleep(1);
    printf("parent goes on\n");
  } else if (is(mode, "two")) {  // the second child's crash ends the first
    MPI_Comm first = spawn_mode("sleep", 2), second = spawn_mode("crash", 2);
    MPI_Barrier(first);
    MPI_Barrier(second);
    sleep(60);
  } else if (is(mode, "slow")) {
    alarm(1);
    inter = spawn_mode(mode, 2);
  } else if (is(mode, "quit")) {
    inter = spawn_mode("sleep", 2);
    MPI_Barrier(inter);
    exit(5);
  } else {
    if (is(mode, "cores")) say_cores("parent");
    if (is(mode, "label")) printf("parent\n");
    fflush(stdout);
    inter = spawn_mode(mode, argc > 2 ? atoi(argv[2]) : 1);
    if (is(mode, "sleep") || is(mode, "crash") || is(mode, "grand")) {
      MPI_Barrier(inter);
      if (is(mode, "sleep")) {
        FILE* ready = fopen("ready", "w");
        fclose(ready);
      }
      sleep(60);
    }
    if (is(mode, "stuck")) MPI_Recv(&argc, 1, MPI_INT, 0, 8, inter, MPI_STATUS_IGNORE);
  }
  if (inter != MPI_COMM_NULL) MPI_Comm_disconnect(&inter);
  MPI_Finalize();
  return 0;
}
END
"$MPICC" -O1 door.c -o "door.$$" || exit 1
program=./door.$$
printf '#!/no/such/interpreter\n' >broken && chmod +x broken
run() { timeout -k 1 40 "$MPIRUN" "$@"; }
left_over() { ! pgrep -f "^$program" >/dev/null; } # only its own programs have this name
none_left() { # within two seconds
  for _ in 1 2 3 4 5 6 7 8 9 10; do left_over && return 0; sleep 0.2; done
  pgrep -af "^$program"
  return 1
}

check "any argument" prints $'word <:>\nword <-n>\nword <a b>\nword <>\nword <-->' run -n 1 "$program" words
check "a request of a mebibyte" run -n 1 "$program" long
cannot() { says "$2" run -n 1 "$program" "$1" && none_left; }
check "a program that is absent" cannot absent 'class SPAWN: .*cannot start .*/absent: No such file'
check "a program that exec refuses" cannot broken 'class SPAWN: .*cannot start rank 2 .*no/such/interpreter'
check "all codes are errors" says 'codes 1' run -n 1 "$program" broken
check "a child that ends before MPI_Init" says 'class SPAWN: .*exit code 3' run -n 1 "$program" early
check "children that never call MPI_Init" says 'class SPAWN: .*ended without MPI_Init' run -n 1 "$program" never
check "50 spawns leave nothing" prints $'fd: 0 more\ntask: 0 more\nzombies: 0 more' run -n 1 "$program" many "${SPAWNS:-50}"
check "bad requests" says 'answer: a request to start ranks is of another version' run -n 1 "$program" attack

mkdir -p sub
check "keys of info" prints '/sub 1 two words' run -n 1 "$program" keys
check "the key host" prints $'hello\nworld' run -n 1 "$program" host
one_core() { run -n 1 "$program" bound >out && awk 'NF != 2 { bad = 1 } END { exit bad || NR != 1 }' out; }
check "the key bind_to" one_core

killed() { fails "$@" && none_left; }
check "a child's crash ends the parent" killed 137 'rank 0 of world 1 .*killed by signal 9.*The other 2 ranks are being ended' \
  run -n 1 "$program" crash 2
check "a grandchild's crash ends all" killed 137 'rank 0 of world 2 .*killed by signal 9' run -n 1 "$program" grand
check "a child's crash ends its sibling" killed 137 'of world 2 .*The other 4 ranks' run -n 1 "$program" two
check "a parent's exit ends the children" killed 5 'rank 0 on host .*exit code 5' run -n 1 "$program" quit
check "a parent's death ends children before the meeting" killed 142 'rank 0 on host .*signal 14' run -n 1 "$program" slow
went_on() { local got=0; run -n 1 "$program" "$1" >out 2>err || got=$?; cat out err; [ $got = "$2" ]; }
check "a crash after the disconnect" went_on late 137
check "the parent goes on after it" grep -q 'parent goes on' out
check "an exit code after MPI_Finalize" went_on seven 7

check "mpirun waits for all worlds" prints 'the child has ended' run -n 1 "$program" outlive
check "labels of worlds" prints $'[0] parent\n[1.0] hello\n[1.0] world\n[1.1] hello\n[1.1] world' \
  run -n 1 --tag-output "$program" label 2
check "files of worlds" prints $'hello\nworld' sh -c "timeout 40 '$MPIRUN' -n 1 --output out.d $program label 2 && cat out.d/world.1/rank.1/stdout"
check "stdin is the first world's" prints $'child reads 0\nparent reads x' sh -c "echo x | timeout 40 '$MPIRUN' -n 1 $program stdin"

interrupted() { # interrupted SIGNAL CODE
  local got=0
  rm -f ready
  "$MPIRUN" -n 1 "$program" sleep 2 >out 2>err &
  local mpirun=$!
  for _ in $(seq 100); do [ -e ready ] && break; sleep 0.1; done
  kill -"$1" $mpirun
  wait $mpirun || got=$?
  cat out err
  [ $got = "$2" ] && none_left
}
check "SIGTERM reaches children" interrupted TERM 143
check "SIGINT reaches children" interrupted INT 130
guarded() { interrupted KILL 137; }
check "kill -9 of mpirun leaves none" guarded

check "no alarm for a parent that waits" prints '' sh -c "timeout 40 '$MPIRUN' --set hang=1s -n 1 $program busy 2>&1"
deadlock() { timeout 40 "$MPIRUN" --set hang=1s --timeout 4 -n 1 "$program" stuck >out 2>&1; cat out; grep -q 'waiting ranks of world 1 (no rank' out && grep -q 'waiting ranks (no rank' out; }
check "worlds that wait for each other" deadlock

disjoint() {
  run -n 1 --bind-to core "$program" cores >out || return 1
  cat out
  awk '{ for (i = 2; i <= NF; ++i) if (seen[$i]++) bad = 1; if (NF != 2) bad = 1 } END { exit bad || NR != 2 }' out
}
if [ "$(nproc)" -ge 2 ]; then
  check "cores of a child are free ones" disjoint
  check "--report-bindings has worlds" fails 0 'world 1: rank 0: processors' run -n 1 --bind-to core --report-bindings "$program" plain
else
  skip "cores of a child" "one core"
fi
crowded() { run -n "$(nproc)" --bind-to core "$program" cores >out || return 1; cat out; grep '^child' out | awk -v all="$(nproc)" 'NF != all + 1 { bad = 1 } END { exit bad }'; }
yields() { # and no longer, after the end of the children
  run -n 1 -x TERN_EXPLAIN=1 "$program" plain "$(nproc)" 2>&1 | grep 'ranks of all worlds' >out
  cat out
  grep -q "rank 0.* $(($(nproc) + 1)) ranks of all worlds on $(nproc) processors: waiting ranks leave" out
}
check "more ranks than cores yield" yields
check "without free cores children share all" crowded
totals
