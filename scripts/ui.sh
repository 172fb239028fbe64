#!/bin/sh
# The dashboard's tools, which npm installs into the cache as its lock file pins them; no install script runs.
#
#	scripts/ui.sh            type-checks the sources and builds cmd/conch/internal/ui/dist
#	scripts/ui.sh tools      prints the folder of the tools. If it cannot install them it says so on stderr and prints nothing,
#	                         and the tests that need them are skipped
#	scripts/ui.sh browser    the same for the browser of the tests, Debian's chromium
set -eu

here=$(cd "$(dirname "$0")" && pwd)
ui=$here/../cmd/conch/internal/ui
skip() { echo "ui: $1" >&2; exit 0; }

tools() {
	dir=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/conch/ui-$(cksum <"$ui/source/package-lock.json" | cut -d ' ' -f 1)
	if [ ! -e "$dir/complete" ]; then
		"$here/npm.sh" || skip "there is no Node.js with npm, so nobody checks that what is embedded was built from its sources; install both to do so"
		mkdir -p "$dir"
		cp "$ui/source/package.json" "$ui/source/package-lock.json" "$dir"
		(cd "$dir" && npm ci --silent --no-audit --no-fund --ignore-scripts >&2 && : >complete) || skip "npm could not install the tools"
	fi
	echo "$dir/node_modules"
}

browser() {
	if [ -n "${CONCH_CHROMIUM:-}" ]; then echo "$CONCH_CHROMIUM"; return; fi
	command -v chromium && return
	[ -n "${CI:-}" ] && "$here/apt.sh" ui chromium && command -v chromium ||
		skip "there is no chromium, so the tests of the dashboard in a browser are skipped; install it, or name it in CONCH_CHROMIUM, to run them"
}

case ${1:-build} in
	tools) tools ;;
	browser) browser ;;
	build)
		found=$(tools)
		[ -n "$found" ] || exit 1
		exec node "$ui/source/build.mjs" "$found" "$ui/dist" ;;
	*) echo "ui: there is no $1" >&2; exit 2 ;;
esac
