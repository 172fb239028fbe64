#!/bin/sh
# Prints the folder with the Solidity compiler that sequencer/evm/solidity/package-lock.json pins, and installs it from
# npm if it is missing: the folder has node_modules. If it cannot, it says so on stderr and prints nothing, and the test
# that compiles the contract again is skipped, but fails in CI. CONCH_SOLC names a folder that is there already.
set -eu

pins=$(cd "$(dirname "$0")/../sequencer/evm/solidity" && pwd)

skip() { echo "solc: $1, so the test that compiles the contract again is skipped; install Node.js with npm to run it" >&2; exit 0; }

if [ -n "${CONCH_SOLC:-}" ]; then echo "$CONCH_SOLC"; exit 0; fi
"$(dirname "$0")/npm.sh" || skip "there is no Node.js with npm"
# The folder is of this lock file, so that another version of it has another one.
dir=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/conch/solc-$(cksum <"$pins/package-lock.json" | cut -d ' ' -f 1)
if [ ! -f "$dir/node_modules/solc/soljson.js" ]; then
	mkdir -p "$dir"
	cp "$pins/package.json" "$pins/package-lock.json" "$dir"
	# No install script runs: the packages are JavaScript alone.
	npm ci --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" >&2 || skip "npm could not install it"
fi
echo "$dir"
