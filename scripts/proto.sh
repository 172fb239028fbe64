#!/bin/sh
# Generates the Go code of the messages between nodes. A test compares it with each .proto, so
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

# generate FOLDER NAME PACKAGE: FOLDER/internal/PACKAGE/NAME.pb.go of FOLDER/NAME.proto.
generate() (
	cd "$1"
	protoc --plugin="$plugin/protoc-gen-go" --go_out="internal/$3" --go_opt=paths=source_relative "$2.proto"
	# The version of protoc is a comment only, and would make a difference between machines.
	sed -i.bak '/^\/\/ versions:$/d; /^\/\/ \tprotoc/d' "internal/$3/$2.pb.go"
	rm "internal/$3/$2.pb.go.bak"
)
generate sequencer/wire wire wirepb
generate gossip/spray/wire spray spraypb
