#!/bin/sh
# Prints the folder in which Chopsticks is installed, which runs the code of a real Substrate runtime, with the chain spec of such a
# runtime as spec.json, for a test of chain/substrate/extrinsic. It installs them from npm if they are missing: 252 MB, so that only
# make test-whole and make nightly ask for it. If it cannot, it says so on stderr and prints nothing, and that test is skipped, but
# fails in CI. CONCH_CHOPSTICKS names a folder that is there already.
set -eu

chopsticks=1.5.1
specs=1.10.3

skip() { echo "chopsticks: $1, so the test with a real Substrate runtime is skipped; install Node.js with npm to run it" >&2; exit 0; }

if [ -n "${CONCH_CHOPSTICKS:-}" ]; then echo "$CONCH_CHOPSTICKS"; exit 0; fi
"$(dirname "$0")/npm.sh" || skip "there is no Node.js with npm"
dir=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/conch/chopsticks-$chopsticks-$specs
if [ ! -f "$dir/spec.json" ]; then
	mkdir -p "$dir"
	# No install script runs: the runtime's executor is WebAssembly.
	npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" "@acala-network/chopsticks@$chopsticks" "@substrate/connect-known-chains@$specs" >&2 || skip "npm could not install it"
	# The only one of its chain specs that has the runtime's code: statemine 900.
	node -e 'process.stdout.write(require(process.argv[1]).chainSpec)' "$dir/node_modules/@substrate/connect-known-chains/dist/commonjs/specs/rococo_v2_2_asset_hub.js" >"$dir/spec.new" || skip "npm installed it without the chain spec"
	mv "$dir/spec.new" "$dir/spec.json"
fi
echo "$dir"
