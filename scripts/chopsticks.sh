#!/bin/sh
# Prints a folder with Chopsticks, which runs real runtimes without a network, and the chain spec of one; npm installs both into the
# cache as the lock file pins them, and no install script runs. If it cannot it says so on stderr and prints nothing, and the tests on a
# real runtime are skipped.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
source=$here/../chain/substrate/internal/chopstickstest
skip() { echo "chopsticks: $1, so the tests of Substrate on a real runtime are skipped; install it, or name its folder in CONCH_CHOPSTICKS, to run them" >&2; exit 0; }

if [ -n "${CONCH_CHOPSTICKS:-}" ]; then echo "$CONCH_CHOPSTICKS"; exit 0; fi

dir=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/conch/chopsticks-$(cat "$source/package-lock.json" "$source/genesis.mjs" | cksum | cut -d ' ' -f 1)
if [ ! -e "$dir/complete" ]; then
	"$here/npm.sh" || skip "there is no Node.js with npm to install it with"
	mkdir -p "$dir"
	cp "$source/package.json" "$source/package-lock.json" "$source/genesis.mjs" "$dir"
	(cd "$dir" && npm ci --silent --no-audit --no-fund --ignore-scripts >&2 && node genesis.mjs >&2 && : >complete) || skip "npm could not install it"
fi
echo "$dir"
