# SPDX-License-Identifier: Apache-2.0
# Bare Debians: debootstrap's smallest system in $machine, entered with private namespaces. Sourced
# by run; needs $cache.

# mounts MACHINE PACKAGES COMMAND...: a private /dev/shm and /proc, and fetched packages; all mounts
# end with this process. Uses pivot_root instead of chroot, so namespaces made by the machine have
# the machine's root.
mounts() {
  mount --bind "$1" "$1" && mount --rbind /dev "$1/dev" && mount -t tmpfs -o mode=1777 shm "$1/dev/shm" &&
    mount --rbind /sys "$1/sys" && mount -t proc proc "$1/proc" && mount --bind "$2" "$1/var/cache/apt/archives" &&
    mkdir -p "$1/.outside" && cd "$1" && pivot_root . .outside && shift 2 &&
    exec chroot . sh -c 'umount -l /.outside && exec "$@"' sh "$@"
}
# apart COMMAND...: new mount and pid namespaces. Processes and mounts end with COMMAND or this
# script, even after SIGKILL.
apart() { setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork --kill-child "$@"; }
# inside COMMAND...: runs in the machine, as root, with a login environment.
inside() {
  apart bash -c "$(declare -f mounts); mounts \"\$@\"" mounts "$machine" "$cache/debs-$suite" \
    env -i HOME=/root USER=root LOGNAME=root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# The mirror of this machine's packages, or TERN_FRESH_MIRROR.
mirror() {
  local release
  release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  [ -n "${TERN_FRESH_MIRROR:-}" ] && echo "$TERN_FRESH_MIRROR" && return
  [ "$(. /etc/os-release && echo "$ID")" = debian ] || return 0
  apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    sed -n "s/^$release //p" | head -n 1 | sed 's|/$||'
}

# why_not: prints the reason why bare machines are impossible here, or nothing.
why_not() {
  if [ "$(cat /etc/debian_chroot 2>/dev/null)" = tern-fresh ]; then echo "this is such a machine"
  elif [ "$(id -u)" != 0 ]; then echo "debootstrap needs root"
  elif ! command -v debootstrap >/dev/null; then echo "debootstrap is not installed"
  elif ! apart true 2>/dev/null; then echo "no namespaces of mounts and processes here"
  elif [ -z "$(mirror)" ]; then echo "apt has no mirror of Debian: TERN_FRESH_MIRROR=URL names one"
  elif ! /usr/lib/apt/apt-helper download-file "$(mirror)/dists/bookworm/InRelease" "$work/release" >"$work/network" 2>&1; then
    echo "no network: $(tail -n 1 "$work/network")"
  fi
}

# bootstrap SUITE: puts the suite's tarball into the cache. A cached tarball is valid for a month.
bootstrap() {
  local suite=$1 tarball=$cache/$1.tar
  mkdir -p "$cache/debs-$suite"
  [ -z "$(find "$tarball" -mtime -30 2>/dev/null)" ] || return 0
  rm -rf --one-file-system "$machine"
  apart debootstrap --variant=minbase "$suite" "$machine" "$(mirror)" || { tail -n 5 "$machine/debootstrap/debootstrap.log"; return 1; }
  tar -C "$machine" -cf "$tarball.new" . && mv "$tarball.new" "$tarball"
}

# Copies pip's settings, and the certificate named by the settings or the environment. The package ca-certificates would
# replace a file in /etc/ssl.
pip_settings() {
  local cert
  cp -L /etc/pip.conf "$machine/etc" 2>/dev/null
  cert=${PIP_CERT:-$(sed -n 's/^cert *= *//p' /etc/pip.conf 2>/dev/null | head -n 1)}
  [ -r "$cert" ] || return 0
  cp -L "$cert" "$machine/etc/tern-fresh.crt"
  if grep -q '^cert' "$machine/etc/pip.conf" 2>/dev/null; then
    sed -i 's|^cert.*|cert = /etc/tern-fresh.crt|' "$machine/etc/pip.conf"
  else
    printf '[global]\ncert = /etc/tern-fresh.crt\n' >>"$machine/etc/pip.conf"
  fi
}

# bare SUITE: a new machine with apt settings of this machine: proxies, keys, passwords.
bare() {
  suite=$1
  bootstrap "$suite" || return 1
  rm -rf --one-file-system "$machine"
  mkdir "$machine" && tar -C "$machine" -xf "$cache/$suite.tar" || return 1
  cp -L /etc/resolv.conf /etc/hosts "$machine/etc"
  cp -a /etc/apt/{auth.conf,auth.conf.d,trusted.gpg,trusted.gpg.d,keyrings} "$machine/etc/apt" 2>/dev/null
  pip_settings
  apt-config dump Acquire >"$machine/etc/apt/apt.conf.d/99machine"
  [ -z "${http_proxy:-}" ] || echo "Acquire::http::Proxy \"$http_proxy\";" >>"$machine/etc/apt/apt.conf.d/99machine"
  echo force-unsafe-io >"$machine/etc/dpkg/dpkg.cfg.d/tern-fresh" # no wait for the disk
  echo tern-fresh >"$machine/etc/debian_chroot"
}
install_inside() { inside sh -c 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$@"' sh "$@"; }

# account NAME: root, or a user with sudo.
account() {
  [ "$1" != root ] || return 0
  install_inside sudo && inside useradd --create-home --shell /bin/bash "$1" &&
    echo "$1 ALL=(ALL) NOPASSWD: ALL" >"$machine/etc/sudoers.d/$1"
}
home_of() { sed -n "s/^$1:.*:\(.*\):.*/\1/p" "$machine/etc/passwd"; }

# copy_tree WAY NAME: copies this tree for NAME, as a checkout (git with history) or a tarball (of
# make dist).
copy_tree() {
  local home to
  home=$(home_of "$2") to=$machine$home/tern
  mkdir "$to"
  if [ "$1" = tarball ]; then
    make -C "$build" distdir && cp -a "$build"/tern-*/. "$to" && rm -rf "$build"/tern-*/
  else
    install_inside git && git -C "$top" ls-files -co --exclude-standard -z |
      (cd "$top" && xargs -0 ls -d 2>/dev/null | tar -c -T -) | tar -x -C "$to" &&
      git -C "$to" init -q && git -C "$to" add -A && git -C "$to" -c user.name=tern -c user.email=tern commit -qm tree
  fi || return 1
  inside chown -R "$2:" "$home/tern"
}

# typed NAME LINE: NAME types LINE in the tree. The output goes to the machine's log. Without
# --full, the compiler does not optimize, and takes half the time: the build of this machine
# optimizes.
typed() {
  local flags='export CFLAGS=-O0 CXXFLAGS=-O0'
  [ -z "$all" ] || flags=
  printf '%s\n' "$flags" 'cd ~/tern || exit' "$2" >"$machine/tmp/typed"
  if [ "$1" = root ]; then inside bash /tmp/typed; else inside su "$1" -c 'bash /tmp/typed'; fi </dev/null
}
