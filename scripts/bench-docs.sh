#!/bin/sh
# Writes the measured part of docs/benchmarks.md anew: conch bench, and the peers, one
# after the other, each with the machine as it was. It takes about half an hour; leave
# the machine alone meanwhile. With "conch" or "peers" only that part, in half the time.
set -eu
cd "$(dirname "$0")/.."
doc=docs/benchmarks.md
part=${1:-both}
case $part in both | conch | peers) ;; *) echo "bench-docs: what is $part? It is conch, peers, or nothing for both" >&2; exit 2 ;; esac
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

load() { cut -d ' ' -f 1-3 /proc/loadavg; }
# The server that conch starts: that of CONCH_PG_BIN, else the newest by number.
newest=$(for dir in /usr/lib/postgresql/*/bin; do if [ -x "$dir/postgres" ]; then echo "$dir"; fi; done | sort -V | tail -n 1)
postgres=$("${CONCH_PG_BIN:-$newest}/postgres" --version)
machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
system=$(. /etc/os-release && echo "$PRETTY_NAME")

# measured FILE COMMAND...: where and when, and then what the command prints.
measured() {
	file=$1
	shift
	before=$(load)
	"$@" >"$out/table"
	{
		echo "Measured on $(date -u +%F) with conch $(bin/conch version --json | sed 's/.*"version":"\([^"]*\)".*/\1/'): $(nproc) cores${machine:+ of $machine}, $system, Linux $(uname -r | cut -d . -f 1-2),"
		echo "$postgres, Go $(go env GOVERSION | sed 's/^go//'). Load average before: $before; after: $(load)."
		echo
		awk '/^\| (gate|fence|election|pending) / { print "### " $2 "\n" } { print }' "$out/table"
	} >"$file"
}

# What stands there is kept until it is measured anew.
sed -n '/<!-- measured -->/,/^### peers$/p' "$doc" | sed '1,2d;$d' >"$out/conch"
sed -n '/^### peers$/,/<!-- end -->/p' "$doc" | sed '1,2d;$d' >"$out/peers"
[ "$part" = peers ] || measured "$out/conch" bin/conch bench --markdown
[ "$part" = conch ] || measured "$out/peers" bin/peers --conch bin/conch --markdown
{
	sed '/<!-- measured -->/q' "$doc"
	echo
	cat "$out/conch"
	printf '\n### peers\n\n'
	cat "$out/peers"
	echo
	sed -n '/<!-- end -->/,$p' "$doc"
} | cat -s >"$out/doc"
cp "$out/doc" "$doc"
echo "bench-docs: $doc is written"
