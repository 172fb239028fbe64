#!/bin/sh
# Writes the measured part of docs/benchmarks.md anew: this machine, conch bench,
# and the peers, one after the other. It takes about half an hour; leave the
# machine alone meanwhile.
set -eu
cd "$(dirname "$0")/.."
doc=docs/benchmarks.md
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

load() { cut -d ' ' -f 1-3 /proc/loadavg; }
postgres=$(for dir in "${CONCH_PG_BIN:-}" /usr/lib/postgresql/*/bin; do [ -x "$dir/postgres" ] && "$dir/postgres" --version; done | tail -n 1)
machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
system=$(. /etc/os-release && echo "$PRETTY_NAME")

before=$(load)
bin/conch bench --markdown >"$out/bench"
between=$(load)
bin/peers --conch bin/conch --markdown >"$out/peers"
{
	sed '/<!-- measured -->/q' "$doc"
	echo
	echo "Measured on $(date -u +%F) with conch $(bin/conch version --json | sed 's/.*"version":"\([^"]*\)".*/\1/'): $(nproc) cores${machine:+ of $machine}, $system, Linux $(uname -r | cut -d . -f 1-2),"
	echo "$postgres, Go $(go env GOVERSION | sed 's/^go//'). Load average before: $before; after \`conch bench\`: $between; after the peers: $(load)."
	echo
	awk '/^\| (gate|fence|election|pending) / { print "### " $2 "\n" } { print }' "$out/bench"
	echo
	echo "### peers"
	echo
	cat "$out/peers"
	echo
	sed -n '/<!-- end -->/,$p' "$doc"
} >"$out/doc"
cp "$out/doc" "$doc"
echo "bench-docs: $doc is written"
