# SPDX-License-Identifier: Apache-2.0
# For shell tests: check, skip, totals, and comparisons of output. Each check prints a PASS or FAIL line.
verdicts_passed=0 verdicts_failed=0 verdicts_skipped=0
log=$(mktemp)          # the last nonempty output of a check
trap 'rm -f "$log"' EXIT

# check WHAT COMMAND...: passes if the command exits 0.
check() {
  local what=$1 output
  shift
  output=$(mktemp)
  if "$@" >"$output" 2>&1; then
    verdicts_passed=$((verdicts_passed + 1))
    printf 'PASS %s\n' "$what"
  else
    verdicts_failed=$((verdicts_failed + 1))
    printf 'FAIL %s: %s\n' "$what" "$*"
    tail -n 40 "$output" | sed 's/^/    /'
  fi
  [ ! -s "$output" ] || cp "$output" "$log"
  rm -f "$output"
}

skip() {
  verdicts_skipped=$((verdicts_skipped + 1))
  printf 'SKIP %s: %s\n' "$1" "$2"
}

# The commands below are for check, and print the exit code and the output.
# says PATTERN COMMAND...: exit 0, and the pattern is in the standard output.
says() {
  local pattern=$1 got
  shift
  got=$("$@") || { printf 'exit %s: %s\n' "$?" "$got"; return 1; }
  printf '%s\n' "$got"
  grep -q -e "$pattern" <<<"$got"
}

# prints EXPECTED COMMAND...: exit 0, and exactly the expected lines, in any order.
prints() {
  local expected=$1 got
  shift
  got=$("$@" && echo .) || { printf 'exit %s: %s\n' "$?" "$got"; return 1; }
  # Empty lines at the end count.
  diff <(printf '%s' "${expected:+$expected$'\n'}" | sort) <(printf '%s' "${got%.}" | sort)
}

# fails CODE PATTERN COMMAND...: exit CODE, and the pattern is in the standard error.
fails() {
  local code=$1 pattern=$2 got=0 errors
  shift 2
  errors=$("$@" 2>&1 >/dev/null) || got=$?
  printf 'exit %s: %s\n' "$got" "$errors"
  [ "$got" = "$code" ] && grep -q -e "$pattern" <<<"$errors"
}

totals() {
  printf '%d passed, %d failed, %d skipped\n' "$verdicts_passed" "$verdicts_failed" "$verdicts_skipped"
  [ "$verdicts_failed" = 0 ]
  exit
}
