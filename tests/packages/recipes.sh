# SPDX-License-Identifier: Apache-2.0
# Recipes are valid, and name no version of their own. Sourced by run.

spack_recipe() { python3 -B "$here/spack.py" "$top/packaging/spack/package.py.in" "$prefix"; }
shell_scripts() {
  local script
  for script in "$top"/packaging/release "$top"/packaging/deb/*.postinst* "$top"/packaging/deb/*.prerm* "$top"/packaging/deb/tests/hello; do
    bash -n "$script" || return 1
    head -n 1 "$script" | grep -q '^#!' || { echo "$script: no #!"; return 1; }
  done
}
python_scripts() { python3 -c 'import ast, sys; [ast.parse(open(name).read(), name) for name in sys.argv[1:]]' \
  "$top"/packaging/wheel/build* "$top/packaging/wheel/wheels.py" "$top/packaging/same-files" "$top/packaging/deb/arrange"; }

# Alternatives: each --install has a --remove with the same name and path.
alternatives() {
  local installed removed
  cat "$top"/packaging/deb/*.postinst* | sed -n 's|^private=.*||; s|.*--install [^ ]* \([^ ]*\) \([^ ]*\) 30.*|\1 \2|p' |
    sed 's|\$private|/usr/lib/@MULTIARCH@/tern|' | sort >"$build/installed"
  cat "$top"/packaging/deb/*.prerm* | sed -n 's|.*--remove \([^ ]*\) \([^ ]*\)|\1 \2|p' | sort >"$build/removed"
  cat "$build/installed"
  [ "$(wc -l <"$build/installed")" = 3 ] && diff "$build/installed" "$build/removed"
}
# Every file that a package lists by name comes from this installation.
deb_lists() {
  local wanted missing=0
  while read -r wanted; do
    case $wanted in
      *'/tern/'*) compgen -G "$prefix/${wanted##*/tern/}" >/dev/null ;;
      usr/bin/* | usr/share/man/* | */pkgconfig/tern.pc | */cmake/Tern) true ;;
      *) false ;;
    esac || { echo "$wanted: not in $prefix"; missing=1; }
  done < <(cat "$top"/packaging/deb/*.install)
  return $missing
}
one_version() { ! grep -rnF "$version" "$top/packaging" "$top/bindings/torch" --include='*' | grep -v '/build/\|\.egg-info\|README.md'; }
container() {
  local package
  grep -q '^FROM \${BASE}$' "$top/packaging/container/Containerfile" && grep -q '^COPY deb/' "$top/packaging/container/Containerfile" &&
    for package in libhwloc15 libpmix2t64; do
      grep -q "$package" "$top/packaging/deb/control" || { echo "$package: not in packaging/deb/control"; return 1; }
    done
}

check "Spack's recipe" spack_recipe
check "shell scripts" shell_scripts
check "Python scripts" python_scripts
check "three alternatives, each with its removal" alternatives
check "the lists of the debs name installed files" deb_lists
check "the container's recipe" container
check "configure.ac alone has the version" one_version
