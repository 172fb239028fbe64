#!/bin/sh
# Prints the path of anvil, the second client that the driver of EVM chains is tested
# with, and installs it from npm if it is missing. Without npm it prints nothing, and the
# tests that need anvil are skipped.
set -eu

version=1.7.1

if [ -n "${CONCH_ANVIL:-}" ]; then echo "$CONCH_ANVIL"; exit 0; fi
if command -v anvil 2>/dev/null; then exit 0; fi

case $(uname -s)-$(uname -m) in
	Linux-x86_64) package=anvil-linux-amd64 ;;
	Linux-aarch64) package=anvil-linux-arm64 ;;
	Darwin-arm64) package=anvil-darwin-arm64 ;;
	Darwin-x86_64) package=anvil-darwin-amd64 ;;
	*) exit 0 ;;
esac
dir=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/conch/anvil-$version
path=$dir/node_modules/@foundry-rs/$package/bin/anvil
if [ ! -x "$path" ]; then
	command -v npm >/dev/null 2>&1 || exit 0
	mkdir -p "$dir"
	# The package for this system contains the binary; no install script runs.
	npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" "@foundry-rs/$package@$version" >&2 || exit 0
fi
if [ -x "$path" ]; then echo "$path"; fi
