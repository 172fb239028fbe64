#!/bin/sh
# Prints the folder in which hardhat and ganache are installed, two clients of others that
# make blocks on demand, for the tests by night. It installs them from npm if they are
# missing. If it cannot, it says so on stderr and prints nothing, and those tests are skipped.
set -eu

hardhat=2.26.3
ganache=7.9.2

skip() { echo "hardhat and ganache: $1, so the tests with chains that make blocks on demand are skipped; name a folder with both in CONCH_CLIENTS to run them" >&2; exit 0; }

if [ -n "${CONCH_CLIENTS:-}" ]; then echo "$CONCH_CLIENTS"; exit 0; fi
command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 || skip "there is no Node.js with npm to install them with"
dir=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/conch/clients-$hardhat-$ganache
if [ ! -x "$dir/node_modules/.bin/hardhat" ] || [ ! -x "$dir/node_modules/.bin/ganache" ]; then
	mkdir -p "$dir"
	# Both have what is compiled as packages of their own; no install script runs.
	npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" "hardhat@$hardhat" "ganache@$ganache" >&2 || skip "npm could not install them"
fi
[ -x "$dir/node_modules/.bin/hardhat" ] && [ -x "$dir/node_modules/.bin/ganache" ] || skip "npm installed them without a program"
echo 'module.exports = {}' >"$dir/hardhat.config.js" # without one hardhat asks what to do
echo "$dir"
