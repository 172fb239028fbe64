#!/bin/sh
# Makes the tags of a release: first the root, then each nested module, on a commit of
# its own that requires the released modules instead of the folders beside it (go install
# refuses a module with a replace). Only the tags keep those commits; the branch keeps
# its replaces. The script pushes nothing; its last line prints the command for that.
#
#   scripts/release.sh [--dry-run] v0.1.0
set -eu
cd "$(dirname "$0")/.."

run=
if [ "${1:-}" = --dry-run ]; then run=echo; shift; fi
version=${1:-}
module=github.com/conchhq/conch

fail() { echo "release: $1" >&2; exit 1; }
echo "$version" | grep -Eq '^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$' || fail "name a version like v0.1.0"
grep -q "^## \[${version#v}\]" CHANGELOG.md || fail "CHANGELOG.md has no heading [${version#v}]"
[ -z "$(git status --porcelain)" ] || fail "the tree has changes that are not committed"
git rev-parse -q --verify "refs/tags/$version" >/dev/null && fail "the tag $version exists"

# Modules that others require come first; the binary, which requires all, is last.
nested=$(go list -m -f '{{.Dir}}' | while read -r dir; do echo "${dir#"$PWD"}"; done | sed 's|^/||' | grep -v '^$' | sort)
dirs="$(echo "$nested" | grep -v '^cmd/' || true) $(echo "$nested" | grep '^cmd/')"
start=$(git rev-parse HEAD)
branch=$(git symbolic-ref -q --short HEAD || echo "$start")
tags=$version

$run git tag -a "$version" -m "conch $version"
# Use a new cache: an earlier try may have left another tree under this version.
cache=$(mktemp -d)
trap '$run git checkout -q "$branch"; rm -rf "$cache"' EXIT
for dir in $dirs; do
	$run git checkout -q --detach "$start"
	edits="-dropreplace=$module -require=$module@$version"
	for other in $dirs; do
		if grep -q "$module/$other " "$dir/go.mod"; then
			edits="$edits -dropreplace=$module/$other -require=$module/$other@$version"
		fi
	done
	# shellcheck disable=SC2086 # the edits are words
	$run go -C "$dir" mod edit $edits
	# Read the released modules from this repository, since the tags are not public yet.
	$run env GOWORK=off GOMODCACHE="$cache" GOFLAGS=-modcacherw GOPRIVATE="$module" GIT_CONFIG_COUNT=1 \
		GIT_CONFIG_KEY_0="url.file://$PWD.insteadOf" GIT_CONFIG_VALUE_0="https://$module" \
		sh -c "cd '$dir' && go mod tidy && go build -o /dev/null ./..."
	$run git commit -q -m "release: $dir $version" -- "$dir/go.mod" "$dir/go.sum"
	$run git tag -a "$dir/$version" -m "conch $dir $version"
	tags="$tags $dir/$version"
done
echo "release: git push origin $tags"
