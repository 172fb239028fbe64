#!/bin/sh
# Builds each module of go.work without the workspace, as its users do, and checks that
# go.mod and go.sum need no change.
set -eu
cd "$(dirname "$0")/.."

# Read this before GOWORK is off, since the workspace lists the modules.
dirs=$(go list -m -f '{{.Dir}}')
export GOWORK=off
for dir in $dirs; do
	name=$(go -C "$dir" list -m)
	go -C "$dir" build -o /dev/null ./... || { echo "modules: $name does not build alone" >&2; exit 1; }
	go -C "$dir" mod tidy -diff || { echo "modules: $name is untidy; run: cd $dir && GOWORK=off go mod tidy" >&2; exit 1; }
	echo "modules: $name builds alone and is tidy"
done
