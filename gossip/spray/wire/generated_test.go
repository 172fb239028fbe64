package wire

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/conchhq/conch/gossip/spray/wire/internal/wirepb"
)

var (
	comments = regexp.MustCompile(`(?m) *//.*$`)
	blocks   = regexp.MustCompile(`(?ms)^message \w+ \{(?:\}|.*?^\})`)
)

// The committed code was generated from the committed spray.proto: what the code says of itself, written in the language
// of that file, is that file. So `make proto` cannot be forgotten, and this test needs no protoc.
func TestTheCodeIsThatOfTheFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("spray.proto")
	if err != nil {
		t.Fatal(err)
	}
	want := blocks.FindAllString(comments.ReplaceAllString(string(text), ""), -1)
	var got []string
	file := wirepb.File_spray_proto
	for i := range file.Messages().Len() {
		got = append(got, message(file.Messages().Get(i)))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("run make proto: the generated code has\n%s\nand spray.proto\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if of := file.Messages().ByName("Envelope").Oneofs().ByName("body").Fields(); of.Len() != len(each) {
		t.Errorf("%d bodies, and the tests know %d kinds", of.Len(), len(each))
	}
}

// message writes a message as spray.proto does.
func message(m protoreflect.MessageDescriptor) string {
	if m.Fields().Len() == 0 {
		return fmt.Sprintf("message %s {}", m.Name())
	}
	out, inner := fmt.Sprintf("message %s {\n", m.Name()), ""
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if f.ContainingOneof() != nil && inner == "" {
			inner = "  "
			out += fmt.Sprintf("  oneof %s {\n", f.ContainingOneof().Name())
		}
		kind := f.Kind().String()
		if f.Message() != nil {
			kind = string(f.Message().Name())
		}
		out += fmt.Sprintf("%s  %s%s %s = %d;\n", inner, map[bool]string{true: "repeated "}[f.IsList()], kind, f.Name(), f.Number())
	}
	if inner != "" {
		out += "  }\n"
	}
	return out + "}"
}
