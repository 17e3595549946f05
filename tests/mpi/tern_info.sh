# SPDX-License-Identifier: Apache-2.0
# tern_info: every part as text and JSON, tried transports, synthetic machines of hwloc, wrong use.
# timeout: 120
# waits: yes
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
export XDG_CONFIG_HOME=$work/config XDG_CONFIG_DIRS=$work/site
unset LC_ALL LC_CTYPE LANG



tern_info --json >all.json
valid() { # valid EXPRESSION: a Python expression about the JSON is true
  python3 -c 'import json, sys
facts = json.load(open("all.json"))
sys.exit(not eval(sys.argv[1]))' "$1"
}

check "one screen by default" sh -c 'tern_info >screen && [ "$(wc -l <screen)" -le 30 ]'
check "the screen has the transports" says '^  sm  *works, reaches' cat screen
check "the screen has the number of defaults" says '^  [0-9]* of [0-9]* have their defaults' cat screen
check "the screen has other settings with their source" says '^  TERN_SPIN = 7 us  \[environment\]' env TERN_SPIN=7 tern_info
check "the screen has wrong settings" says 'TERN_HNG is not a parameter of Tern' env TERN_HNG=1 tern_info
check "everything as text" sh -c 'tern_info --all >all && grep -q "^Transports, each tried" all && grep -q "^  TERN_HANG = " all &&
  grep -q "is a core with its PUs" all && grep -q "^  configured by" all'
check "--all with --svg FILE" says '^  configured by' tern_info --all --svg all.svg
check "a part alone" sh -c '! tern_info --build | grep "^Transports"'
check "--build names version and prefix" says "^  prefix  *$PREFIX\$" tern_info --build
check "--version" says '^tern_info (Tern MPI) [0-9]' tern_info --version
check "the output does not depend on the time" sh -c 'tern_info --all >one; sleep 1; tern_info --all >two; cmp one two'
check "JSON is valid" python3 -m json.tool all.json
check "JSON has all parts" valid '{"build", "dependencies", "launch", "transports", "topology", "parameters", "files", "complaints"} <= set(facts)'
check "PMIx and hwloc were opened" valid 'all(d["opened"] and d["version"] for d in facts["dependencies"][:2])'
check "without a launcher a program is a singleton" valid 'facts["launch"]["way"] == "singleton"'
check "under mpirun a program is no singleton" says '"way": "mpirun"' "$MPIRUN" -n 1 tern_info --build --json
check "tern_info does not join the job" sh -c '! "$MPIRUN" -n 2 tern_info --build 2>&1 | grep -i finalize'
check "srun without PMIx would fail" says 'would fail .*srun' \
  env SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_NTASKS=4 tern_info --build

check "self and shared memory work" valid '[t["works"] for t in facts["transports"][:2]] == [True, True]'
cat >refuse.c <<'END'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char** argv) {
  struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                               BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
                               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 3;
  return argc > 1 ? execvp(argv[1], argv + 1) : 4;
}
END
check "a program that refuses copies compiles" mpicc refuse.c -o refuse
check "refused copies have errno and cure" says 'DOES NOT WORK: process_vm_readv .*' ./refuse tern_info --transports
check "the errno is named" says 'errno 1' ./refuse tern_info --transports
check "the cure is named" says 'cure: .*ptrace' ./refuse tern_info --transports
check "an error without descriptors" says 'DOES NOT WORK: .*' sh -c 'ulimit -n 4; tern_info --transports'

export HWLOC_SYNTHETIC="pack:4 numa:2 l3:1 core:8 pu:2"
check "a large machine is drawn once for equal parts" says 'Package 1 to 3: the same, PUs 32-127' tern_info --topology
check "NUMA nodes are inside packages" says '| | + NUMA node 0, ' tern_info --topology
check "the picture fits 80 columns" sh -c '! tern_info --topology | grep -E "^.{81}"'
check "boxes by the locale" says '│' env LC_ALL=C.UTF-8 tern_info --topology
check "the output names a synthetic machine" says "from hwloc's variables" tern_info --topology
check "SVG is written" tern_info --svg machine.svg
check "SVG has all parts" python3 -c 'import xml.etree.ElementTree as tree
parts = [e for e in tree.parse("machine.svg").iter() if e.tag.endswith("rect")]
assert len(parts) == 1 + 4 + 8 + 8 + 64 + 128, len(parts)'
check "SVG on standard output" says '^<svg ' tern_info --svg -
check "a description refused by hwloc gives an error" says 'hwloc did not take the machine' \
  env HWLOC_SYNTHETIC=nonsense tern_info --topology
unset HWLOC_SYNTHETIC
if [ "$(getconf _NPROCESSORS_ONLN)" = 1 ]; then
  skip "a processor that may not be used is marked" "there is only one"
else
  check "a processor that may not be used is marked" says "([0-9 ]*)" taskset -c 0 tern_info --topology
fi

mkdir -p config/tern site/tern
printf 'TERN_SPIN = 20us\nTERN_EAGER = 1\n' >site/tern/tern.conf
printf '# mine\nTERN_SPIN = 30us\nTERN_SM_POOL = 1k\n' >config/tern/tern.conf
check "a file's value with its line" says "^  TERN_SPIN = 30 us  \[$work/config/tern/tern.conf:2\]" tern_info --parameters
check "the environment wins" says '^  TERN_SPIN = 7 us  \[environment\]' env TERN_SPIN=7 tern_info --parameters
# set_to NAME VALUE WORDS: the value as text, and as JSON back into the library.
set_to() {
  says "^  $1 = $3  \[environment\]" env "$1=$2" tern_info --parameters || return 1
  local read
  read=$(env "$1=$2" tern_info --parameters --json | python3 -c 'import json, sys
print(next(p["value"] for p in json.load(sys.stdin)["parameters"] if p["name"] == sys.argv[1]))' "$1") || return 1
  says "^  $1 = $3  \[environment\]" env "$1=$read" tern_info --parameters
}
check "seconds" set_to TERN_HANG 30 '30 s'
check "milliseconds" set_to TERN_HANG 1500ms '1500 ms'
check "minutes" set_to TERN_NET_TIMEOUT 2min '120 s'
check "microseconds" set_to TERN_SPIN 20us '20 us'
check "bytes" set_to TERN_EAGER_LIMIT 8k '8192 (8 KiB)'
# Each default, passed as a value, reads back as the default: table, values and text use one unit.
defaults_are_values() {
  env -i PATH="$PATH" HOME="$PWD" tern_info --parameters --json | python3 -c 'import json, os, subprocess, sys
def parameters(settings):
    env = {"PATH": os.environ["PATH"], "HOME": os.environ["PWD"], **settings}
    said = subprocess.run(["tern_info", "--parameters", "--json"], env=env, stdout=subprocess.PIPE, check=True).stdout
    return {p["name"]: p for p in json.loads(said)["parameters"]}
wrong = 0
for p in json.load(sys.stdin)["parameters"]:
    again = parameters({p["name"]: p["default"]})[p["name"]] if p["default"] else p
    if p["value"] != p["default"] or again["value"] != p["default"]:
        wrong += 1
        print(p["name"], "default", p["default"], "value", p["value"], "read again", again["value"])
sys.exit(wrong != 0)'
}
check "defaults are values" defaults_are_values
check "the manual page has the default in seconds" says 'default: 60 s' sh -c "tern_info --man | tr '[:upper:]' '[:lower:]'"
check "files read" says "^  $work/site/tern/tern.conf: read" tern_info --parameters
check "a wrong value is reported" says 'TERN_SM_POOL is .*, but it must be between' tern_info --parameters --json
check "an unknown name is reported with the nearest name" says 'TERN_HNG is not a parameter of Tern; did you mean TERN_HANG' env TERN_HNG=1 tern_info --parameters --json
check "complaints are valid JSON" sh -c 'tern_info --parameters --json | python3 -m json.tool'
check "the manual page has all parameters" sh -c '[ "$(tern_info --man | grep -c "^.It Ev TERN_")" = "$(tern_info --json | grep -c "\"default\":")" ]'

# The record of GPU runs behind tern_info's marks.
record() { printf '%s\n' "$1" >record && python3 "$TOP/coll/gpu/verdicts.py" --record record --out compiled; }
check "a recorded run" sh -c "python3 '$TOP/coll/gpu/verdicts.py' --record '$TOP/coll/gpu/verdicts.txt' --out compiled"
compiled() { record "push 2027-01-31 NVIDIA H100" && grep -qF '{"push", "2027-01-31 NVIDIA H100"},' compiled; }
check "a line of the record is compiled" compiled
check "an unknown name ends the build" fails 1 'record:1: pull is not an engine or a wire; the names are stream, .*ll128' record "pull 2027-01-31 NVIDIA H100"
check "a line without a date ends the build" fails 1 'after ll come a date' record "ll NVIDIA H100"

check "a wrong option gets the nearest name" fails 2 'did you mean --topology' tern_info --toplogy
check "a missing value" fails 2 'needs a FILE' tern_info --svg
check "plain words are refused" fails 2 'no option' tern_info everything
check "an unwritable file" sh -c 'tern_info --svg /nowhere/a.svg 2>&1 | grep "cannot write /nowhere/a.svg: No such file" && ! tern_info --svg /nowhere/a.svg'
totals
