# SPDX-License-Identifier: Apache-2.0
# For tests written as shell scripts: check, skip, totals, and conditions on a command's output. Each check prints a line
# PASS or FAIL.
verdicts_passed=0 verdicts_failed=0 verdicts_skipped=0
log=$(mktemp)          # the output of the last check with any output
trap 'rm -f "$log"' EXIT

# check WHAT COMMAND...: passes if the command exits with 0. On failure, prints the end of the output.
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

# Conditions for check. Each prints the command's exit code or output.
# says PATTERN COMMAND...: exit code 0, and standard output matches the pattern.
says() {
  local pattern=$1 got
  shift
  got=$("$@") || { printf 'exit %s: %s\n' "$?" "$got"; return 1; }
  printf '%s\n' "$got"
  grep -q -e "$pattern" <<<"$got"
}

# prints EXPECTED COMMAND...: exit code 0, and exactly these lines in any order.
prints() {
  local expected=$1 got
  shift
  got=$("$@" && echo .) || { printf 'exit %s: %s\n' "$?" "$got"; return 1; }
  # The "." keeps trailing empty lines.
  diff <(printf '%s' "${expected:+$expected$'\n'}" | sort) <(printf '%s' "${got%.}" | sort)
}

# fails CODE PATTERN COMMAND...: this exit code, and standard error matches the pattern.
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
