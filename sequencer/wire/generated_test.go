package wire

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/conchhq/conch/sequencer/wire/internal/wirepb"
)

var (
	comments = regexp.MustCompile(`(?m) *//.*$`)
	blocks   = regexp.MustCompile(`(?ms)^(?:message|enum) \w+ \{(?:\}|.*?^\})`)
)

// The committed code was generated from the committed wire.proto: what the code says of itself, written in the language
// of that file, is that file. So `make proto` cannot be forgotten, and this test needs no protoc.
func TestTheCodeIsThatOfTheFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("wire.proto")
	if err != nil {
		t.Fatal(err)
	}
	want := blocks.FindAllString(comments.ReplaceAllString(string(text), ""), -1)
	var got []string
	file := wirepb.File_wire_proto
	for i := range file.Messages().Len() {
		got = append(got, message(file.Messages().Get(i)))
	}
	for i := range file.Enums().Len() {
		got = append(got, enum(file.Enums().Get(i)))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("run make proto: the generated code has\n%s\nand wire.proto\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if name := string(file.Package()); !strings.Contains(string(text), "\npackage "+name+";\n") {
		t.Errorf("the package is called %s", name)
	}
}

// message writes a message as wire.proto does.
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
		out += fmt.Sprintf("%s  %s%s %s = %d;\n", inner, map[bool]string{true: "repeated "}[f.IsList()], typeName(f), f.Name(), f.Number())
	}
	if inner != "" {
		out += "  }\n"
	}
	return out + "}"
}

func typeName(f protoreflect.FieldDescriptor) string {
	switch {
	case f.Message() != nil:
		return string(f.Message().Name())
	case f.Enum() != nil:
		return string(f.Enum().Name())
	}
	return f.Kind().String()
}

func enum(e protoreflect.EnumDescriptor) string {
	out := fmt.Sprintf("enum %s {\n", e.Name())
	for i := range e.Values().Len() {
		out += fmt.Sprintf("  %s = %d;\n", e.Values().Get(i).Name(), e.Values().Get(i).Number())
	}
	return out + "}"
}

// The rules that wire.proto states about its numbers and parts.
func TestTheRulesOfTheFile(t *testing.T) {
	t.Parallel()
	envelope := (&wirepb.Envelope{}).ProtoReflect().Descriptor()
	of := envelope.Oneofs().ByName("body").Fields()
	if of.Len() != int(kinds)-1 {
		t.Errorf("%d bodies and %d kinds", of.Len(), kinds-1)
	}
	for i := range of.Len() {
		f := of.Get(i)
		kind := Kind(f.Number() - 15)
		if got := strings.ReplaceAll(string(f.Name()), "_", " "); got != kind.String() {
			t.Errorf("field %d is %s, and the kind %d is %v", f.Number(), got, kind, kind)
		}
	}
	names := (wirepb.Why)(0).Descriptor().Values()
	if names.Len() != int(whys) {
		t.Errorf("%d reasons in the file, %d in the code", names.Len(), whys)
	}
	for i := range names.Len() {
		// "not a member" is NOT_MEMBER.
		code := strings.ReplaceAll(strings.ToUpper(strings.ReplaceAll(Why(i).String(), "not a ", "not ")), " ", "_")
		if v := names.Get(i); int(v.Number()) != i || string(v.Name()) != code {
			t.Errorf("%s = %d, and the reason %d is %v", v.Name(), v.Number(), i, Why(i))
		}
	}
}
