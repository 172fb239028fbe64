#!/bin/sh
# Rewrites the measured part of bench/measured.md: first conch-lab bench, then the peers, each
# with a line about the machine. It takes about an hour; do not use the machine
# meanwhile. The argument "conch" or "peers" measures only that part, in half the time, and the name of a
# bench only that one, such as "sequencer": "log" takes about seven minutes, and wants bin/conch-etcd
# ("bench/peers/build.sh etcd" makes it).
set -eu
cd "$(dirname "$0")/.."
doc=bench/measured.md
part=${1:-both}
case $part in
both | conch | peers | gate | fence | election | pending | files | sequencer | gossip | log | schedule | ui) ;;
*) echo "bench-docs: unknown part $part: use conch, peers, the name of a bench, or no argument for both" >&2; exit 2 ;;
esac
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

load() { cut -d ' ' -f 1-3 /proc/loadavg; }
# The server that conch starts: CONCH_PG_BIN, or the highest version.
newest=$(for dir in /usr/lib/postgresql/*/bin; do if [ -x "$dir/postgres" ]; then echo "$dir"; fi; done | sort -V | tail -n 1)
postgres=$("${CONCH_PG_BIN:-$newest}/postgres" --version)
machine=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
system=$(. /etc/os-release && echo "$PRETTY_NAME")

# measured FILE COMMAND...: writes machine and date to FILE, then the command's output.
measured() {
	file=$1
	shift
	before=$(load)
	"$@" >"$out/table"
	{
		echo "Measured on $(date -u +%F) with conch $(bin/conch version --json | sed 's/.*"version":"\([^"]*\)".*/\1/'): $(nproc) cores${machine:+ of $machine}, $system, Linux $(uname -r | cut -d . -f 1-2),"
		echo "$postgres, Go $(go env GOVERSION | sed 's/^go//'). Load average before: $before; after: $(load)."
		echo
		awk '/^\| (gate|fence|election|pending|files|sequencer|gossip|log|schedule|ui) / { print "### " $2 "\n" } { print }' "$out/table"
	} >"$file"
}

case $part in gate | fence | election | pending | files | sequencer | gossip | log | schedule | ui)
	measured "$out/one" bin/conch-lab bench "$part" --markdown
	{ printf '### %s\n\n' "$part"; sed '/^### /d' "$out/one"; echo; } | cat -s >"$out/section"
	awk -v name="### $part" -v section="$out/section" '
		/^(### |<!-- end)/ { inside = $0 == name; if (inside) while ((getline line <section) > 0) print line }
		!inside' "$doc" >"$out/doc"
	cp "$out/doc" "$doc"
	echo "bench-docs: wrote $part in $doc"
	exit
	;;
esac

# Keep the parts that are not measured this time.
sed -n '/<!-- measured -->/,/^### peers$/p' "$doc" | sed '1,2d;$d' >"$out/conch"
sed -n '/^### peers$/,/<!-- end -->/p' "$doc" | sed '1,2d;$d' >"$out/peers"
[ "$part" = peers ] || measured "$out/conch" bin/conch-lab bench --markdown
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
echo "bench-docs: wrote $doc"
