#!/bin/sh
# Prints the folder with the metadata of real Substrate runtimes that two npm packages have, and fetches them if they are missing:
# the tests of chain/substrate/metadata read them all. If it cannot, it says so on stderr and prints nothing, and those tests are
# skipped, but fail in CI. CONCH_METADATA names a folder that is there already.
set -eu

skip() { echo "metadata: $1, so the tests with the metadata of real runtimes are skipped; install Node.js with npm to run them" >&2; exit 0; }

if [ -n "${CONCH_METADATA:-}" ]; then echo "$CONCH_METADATA"; exit 0; fi
types=@polkadot/types-support@16.5.6
types_sum=410da8e538a852cf428465ff10679e9ebd78663fb2821973e883432c83450238
storagehub=@storagehub/api-augment@0.4.0
storagehub_sum=9e1df2991cfc7a42d3f6fcbfe43d6a4eb1846cc1cbb17945a4b49fa913a134fb
dir=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/conch/metadata-$(printf '%s %s' "$types" "$storagehub" | cksum | cut -d ' ' -f 1)
if [ ! -d "$dir" ]; then
	"$(dirname "$0")/npm.sh" || skip "there is no Node.js with npm"
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	# They are unpacked and no more: nothing of them runs.
	(cd "$work" && npm pack --silent "$types" "$storagehub" >/dev/null) || skip "npm could not fetch them"
	(cd "$work" && printf '%s  %s\n%s  %s\n' "$types_sum" polkadot-types-support-16.5.6.tgz \
		"$storagehub_sum" storagehub-api-augment-0.4.0.tgz | sha256sum -c --quiet - >&2) || skip "npm sent something else"
	mkdir "$work/found"
	tar -xzf "$work/polkadot-types-support-16.5.6.tgz" -C "$work" --strip-components 2 package/metadata/v14 package/metadata/v15 package/metadata/v16
	for file in "$work"/v1[456]/*-hex.js; do
		version=$(basename "$(dirname "$file")")
		sed -n "s/.*'\(0x[0-9a-f]*\)'.*/\1/p" "$file" >"$work/found/$version-$(basename "$file" -hex.js)"
	done
	tar -xzf "$work/storagehub-api-augment-0.4.0.tgz" -C "$work" --strip-components 1 package/metadata-sh-parachain.json package/metadata-sh-solochain-evm.json
	for name in parachain solochain-evm; do
		sed -n 's/.*"result": *"\(0x[0-9a-f]*\)".*/\1/p' "$work/metadata-sh-$name.json" >"$work/found/v14-storagehub-$name"
	done
	mkdir -p "$(dirname "$dir")"
	mv "$work/found" "$dir" 2>/dev/null || [ -d "$dir" ] || skip "they have no place in $dir"
fi
echo "$dir"
