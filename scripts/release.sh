#!/bin/sh
# Makes the tags of a release: one for the root and one for each module of go.work, each on a commit that requires the
# released modules instead of the folders beside it (go install refuses a module with a replace). Only the tags keep those
# commits; the branch keeps its replaces.
#
# Everything is made and tried in a clone, which is removed. The tags come here last and all at once, so a try that fails
# leaves nothing behind. A second run compares what it makes with the tags that are here. With --dry-run none come. The
# script pushes nothing; its last line prints the command for that.
#
#   scripts/release.sh [--dry-run] v0.1.0
set -eu
cd "$(dirname "$0")/.."
repo=$PWD

dry=
if [ "${1:-}" = --dry-run ]; then dry=yes; shift; fi
version=${1:-}

fail() { echo "release: $1" >&2; exit 1; }
# keeps ends the script if a tag is here and has another tree.
keeps() {
	here=$(git -C "$repo" rev-parse -q --verify "refs/tags/$1^{tree}" || true)
	[ -z "$here" ] || [ "$here" = "$2" ] ||
		fail "the tag $1 exists and holds something else: a version is never given twice, so name another one"
}

echo "$version" | grep -Eq '^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$' || fail "name a version like v0.1.0"
grep -q "^## \[${version#v}\]" CHANGELOG.md || fail "CHANGELOG.md has no heading [${version#v}]"
if grep -q "^## \[${version#v}\] - unreleased" CHANGELOG.md; then
	echo "release: note that CHANGELOG.md calls ${version#v} unreleased: write the day there before you push" >&2
fi
git var GIT_COMMITTER_IDENT >/dev/null || fail "git does not know who you are: set user.name and user.email"
[ -z "$(git status --porcelain)" ] || fail "the tree has changes that are not committed"
keeps "$version" "$(git rev-parse 'HEAD^{tree}')"
module=$(GOWORK=off go list -m)
folders=$(go list -m -f '{{.Dir}}' | sed "s|^$repo||; s|^/||")

# The released modules that a folder requires, one folder a line; empty is the root.
requires() {
	awk -v module="$module" '/^replace/ { next } { path = $1 == "require" ? $2 : $1 }
		path == module { print "" } index(path, module "/") == 1 { print substr(path, length(module) + 2) }' "${1:-.}/go.mod"
}
order=$(echo "$folders" | while read -r folder; do
	echo "${folder:-.} ${folder:-.}"
	requires "$folder" | while read -r other; do echo "${other:-.} ${folder:-.}"; done
done | tsort) || fail "the modules require each other in a circle"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
clone=$work/clone
git clone -q --shared --no-tags "$repo" "$clone"
for key in user.name user.email; do
	if value=$(git config "$key"); then git -C "$clone" config "$key" "$value"; fi
done
start=$(git -C "$clone" rev-parse HEAD)

# A cache of their own, since an earlier try may have left other modules under this version in the user's. Other modules
# come from the user's cache where it has them; ours come from the tags in the clone, which are not public yet.
GOPROXY=file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)
GOFLAGS="$(go env GOFLAGS) -modcacherw -mod=mod"
export GOPROXY GOFLAGS GOMODCACHE="$work/modules" GOWORK=off GOPRIVATE="$module" CGO_ENABLED=0
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.file://$clone.insteadOf" GIT_CONFIG_VALUE_0="https://$module"

tags=
missing=
for folder in $order; do
	path=$module/$folder
	tag=$folder/$version
	if [ "$folder" = . ]; then path=$module tag=$version; fi
	git -C "$clone" checkout -q --detach "$start"
	cd "$clone/$folder"
	for other in $(requires . | sed "s|^|/|; s|^/$||; s|^|$module|"); do
		go mod edit "-dropreplace=$other" "-require=$other@$version"
	done
	go mod tidy
	go build -trimpath -o /dev/null ./... || fail "$path does not build with the released modules"
	if [ -n "$(git status --porcelain)" ]; then git add -A && git commit -q -m "release: $folder $version"; fi
	git tag -a "$tag" -m "conch $tag"
	# The go command makes the archive of the tag, and refuses names and sizes that no proxy would serve.
	go mod download "$path@$version" || fail "$path cannot be fetched by its tag"
	keeps "$tag" "$(git rev-parse 'HEAD^{tree}')"
	cd "$repo"
	tags="$tags $tag"
	git rev-parse -q --verify "refs/tags/$tag" >/dev/null || missing="$missing $tag"
done

GOBIN=$work/bin go install -trimpath "$module/cmd/conch@$version"
says=$("$work/bin/conch" version)
case $says in
	"conch $version,"*) ;;
	*) fail "the installed command says it is: $says" ;;
esac

if [ -n "$dry" ]; then
	echo "release: a dry run, so it leaves no tags:$tags"
	exit
fi
if [ -n "$missing" ]; then
	specs=
	for tag in $missing; do specs="$specs refs/tags/$tag:refs/tags/$tag"; done
	# shellcheck disable=SC2086 # the tags are words
	git fetch -q --atomic --no-tags "$clone" $specs
else
	echo "release: the tags of $version are here already, and hold the same"
fi
echo "release: git push --atomic origin$tags"
