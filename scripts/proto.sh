#!/bin/sh
# Generates the Go code of the messages between nodes. A test compares it with the .proto, so
# that nobody needs protoc to see that this was forgotten.
set -eu
cd "$(dirname "$0")/.."

if ! command -v protoc >/dev/null; then
	echo "proto: install protoc first: apt-get install protobuf-compiler, brew install protobuf" >&2
	exit 1
fi
plugin=$(mktemp -d)
trap 'rm -rf "$plugin"' EXIT
# The generator and the library are one module, so go.mod keeps them at one version.
go build -o "$plugin/protoc-gen-go" google.golang.org/protobuf/cmd/protoc-gen-go
# Two files of one name cannot be in one program.
for file in sequencer/internal/wire/wire.proto gossip/internal/wire/gossip.proto gossip/internal/overlay/wire/spray.proto txlog/internal/wire/log.proto; do
	folder=$(dirname "$file")
	# The code lies in the package's own folder, or beside it if other packages need it too.
	code=$folder/internal/wirepb
	[ -d "$code" ] || code=$(dirname "$folder")/wirepb
	name=$(basename "$file" .proto)
	protoc --plugin="$plugin/protoc-gen-go" -I "$folder" --go_out="$code" --go_opt=paths=source_relative "$name.proto"
	# The version of protoc is a comment only, and would make a difference between machines.
	sed -i.bak '/^\/\/ versions:$/d; /^\/\/ \tprotoc/d' "$code/$name.pb.go"
	rm "$code/$name.pb.go.bak"
done
