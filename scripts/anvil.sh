#!/bin/sh
# Prints the path of anvil, the second client that the driver of EVM chains is tested
# with, and installs it from npm if it is missing. If it cannot, it says so on stderr and
# prints nothing, and the tests that need anvil are skipped.
set -eu

version=1.7.1

skip() { echo "anvil: $1, so the tests with a second chain client are skipped; install it, or name it in CONCH_ANVIL, to run them" >&2; exit 0; }

if [ -n "${CONCH_ANVIL:-}" ]; then echo "$CONCH_ANVIL"; exit 0; fi
if command -v anvil 2>/dev/null; then exit 0; fi

case $(uname -s)-$(uname -m) in
	Linux-x86_64) package=anvil-linux-amd64 ;;
	Linux-aarch64) package=anvil-linux-arm64 ;;
	Darwin-arm64) package=anvil-darwin-arm64 ;;
	Darwin-x86_64) package=anvil-darwin-amd64 ;;
	*) skip "not found, and npm has none for this system" ;;
esac
dir=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/conch/anvil-$version
path=$dir/node_modules/@foundry-rs/$package/bin/anvil
if [ ! -x "$path" ]; then
	"$(dirname "$0")/npm.sh" || skip "not found, and there is no npm to install it with"
	mkdir -p "$dir"
	# The package for this system contains the binary; no install script runs.
	npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" "@foundry-rs/$package@$version" >&2 || skip "npm could not install it"
fi
[ -x "$path" ] || skip "npm installed it without a program"
echo "$path"
