package prototest

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const timestamp = `// A file.
syntax = "proto3";
package google.protobuf;

// An instant.
message Timestamp {
  // message Other {
  int64 seconds = 1; // since 1970
  int32 nanos = 2;
}
`

// Each change of a file that was not followed by make proto is seen.
func TestWhatDiffersIsSeen(t *testing.T) {
	t.Parallel()
	code := timestamppb.File_google_protobuf_timestamp_proto
	if faults := compare(timestamp, code); faults != "" {
		t.Errorf("a file and its code differ: %s", faults)
	}
	for _, c := range []struct{ from, to string }{
		{"nanos = 2", "nanos = 3"},
		{"nanos", "micros"},
		{"int32", "repeated int32"},
		{"int32", "int64"},
		{"  int32 nanos = 2;\n", ""},
		{"  int32 nanos = 2;\n", "  int32 nanos = 2;\n  bool leap = 3;\n"},
		{"message Timestamp", "message Instant"},
		{"package google.protobuf", "package other"},
		{"// An instant.", "message More {}\n"},
		{"// An instant.", "enum More {\n  NONE = 0;\n}\n"},
		{"  int64 seconds = 1; // since 1970\n", "  oneof when {\n    int64 seconds = 1;\n  }\n"},
	} {
		if text := strings.Replace(timestamp, c.from, c.to, 1); text == timestamp || compare(text, code) == "" {
			t.Errorf("%q in place of %q is not seen", c.to, c.from)
		}
	}
}

// A file with a choice, an enum and a message in a message is written as it is.
func TestAllThatAFileHas(t *testing.T) {
	t.Parallel()
	text := message(structpb.File_google_protobuf_struct_proto.Messages().ByName("Value"))
	for _, part := range []string{"message Value {\n  oneof kind {\n    NullValue null_value = 1;\n", "    Struct struct_value = 5;\n", "    ListValue list_value = 6;\n  }\n}"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %s", part, text)
		}
	}
	if text := enum(structpb.File_google_protobuf_struct_proto.Enums().ByName("NullValue")); text != "enum NullValue {\n  NULL_VALUE = 0;\n}" {
		t.Errorf("an enum is %s", text)
	}
}
