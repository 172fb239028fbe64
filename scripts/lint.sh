#!/bin/sh
# Runs all checks that do not run the code.
set -eu
cd "$(dirname "$0")/.."

golangci_version=2.15.0
# As the tests without the race detector are compiled (Makefile), so that the two share it. There is no cgo in our code.
export CGO_ENABLED=0

unformatted=$(git ls-files --cached --others --exclude-standard '*.go' | while read -r f; do
	if [ -f "$f" ]; then gofmt -l "$f"; fi
done)
if [ -n "$unformatted" ]; then
	echo "lint: not formatted, run: make fmt" >&2
	echo "$unformatted" >&2
	exit 1
fi

dirs=$(go list -m -f '{{.Dir}}')
go vet work
# conch-devnode compiles all of go-ethereum, so check it for one system only.
packages=$(go list work | grep -v conch-devnode)

# The tests do not run on these systems, so at least compile every line.
echo "lint: the library for Windows, everything for macOS"
# shellcheck disable=SC2046 # a list of words; what its tests share starts a server
GOOS=windows go build $(go list ./fence/... ./election/... | grep -v /internal/)
# shellcheck disable=SC2086 # a list of words
GOOS=darwin go vet $packages

scripts/modules.sh

echo "lint: conch without go-ethereum"
go vet -tags noevm ./cmd/conch
if go list -tags noevm -deps ./cmd/conch | grep ethereum; then
	echo "lint: make build-noevm must not depend on the packages above" >&2
	exit 1
fi

bin=$(go env GOBIN)
linter=${bin:-$(go env GOPATH | cut -d: -f1)/bin}/golangci-lint
if ! "$linter" version 2>/dev/null | grep -q "version v\{0,1\}$golangci_version "; then
	echo "lint: installing golangci-lint $golangci_version (once, about two minutes)"
	go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$golangci_version"
fi
config=$PWD/.golangci.yml
status=0
for dir in $dirs; do
	echo "lint: golangci-lint in ${dir#"$PWD"/}"
	(cd "$dir" && "$linter" run --config "$config" ./...) || status=1
done
exit $status
