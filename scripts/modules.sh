#!/bin/sh
# Builds each module of go.work as somebody who has only that module would:
# without the workspace, and with a go.mod and go.sum that need no change.
set -eu
cd "$(dirname "$0")/.."

# Read before GOWORK is off: it is the workspace that knows the modules.
dirs=$(go list -m -f '{{.Dir}}')
export GOWORK=off
for dir in $dirs; do
	name=$(go -C "$dir" list -m)
	go -C "$dir" build -o /dev/null ./... || { echo "modules: $name does not build alone" >&2; exit 1; }
	go -C "$dir" mod tidy -diff || { echo "modules: $name is untidy; run: cd $dir && GOWORK=off go mod tidy" >&2; exit 1; }
	echo "modules: $name builds alone and is tidy"
done
