#!/bin/sh
# Installs packages of this system if it is a Debian or Ubuntu, and this user may: as root, or with sudo that asks for no
# password. Else it does nothing and fails.
#
#	scripts/apt.sh TOOL PACKAGE...      TOOL is what to say that they are for
set -eu

tool=$1
shift
as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi; }

command -v apt-get >/dev/null 2>&1 || exit 1
[ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null || exit 1
# stdout is the caller's answer
echo "$tool: not found, installing $* from this system's packages" >&2
as_root apt-get update -qq >&2
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null </dev/null
