// Package prototest compares generated code with the file that it was generated from, so that `make proto` cannot be forgotten.
// It needs no protoc: what the code says of itself, written in the language of the file, is that file.
package prototest

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

var (
	comments = regexp.MustCompile(`(?m)^ *//.*\n| *//.*$`)
	blocks   = regexp.MustCompile(`(?ms)^(?:message|enum) \w+ \{(?:\}|.*?^\})`)
)

// Same has the test fail unless the generated code is that of the file.
func Same(t *testing.T, path string, code protoreflect.FileDescriptor) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if faults := compare(string(text), code); faults != "" {
		t.Errorf("run make proto: %s and the generated code differ\n%s", path, faults)
	}
}

// compare returns how they differ; empty: not at all.
func compare(text string, code protoreflect.FileDescriptor) string {
	file := blocks.FindAllString(comments.ReplaceAllString(text, ""), -1)
	var generated []string
	for i := range code.Messages().Len() {
		generated = append(generated, message(code.Messages().Get(i)))
	}
	for i := range code.Enums().Len() {
		generated = append(generated, enum(code.Enums().Get(i)))
	}
	if name := string(code.Package()); !strings.Contains(text, "\npackage "+name+";\n") {
		return "the code is of the package " + name
	}
	if len(generated) == 0 {
		return "there are no messages"
	}
	slices.Sort(file)
	slices.Sort(generated)
	if slices.Equal(file, generated) {
		return ""
	}
	only := func(all, others []string) string {
		all = slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(others, one) })
		return cmp.Or(strings.Join(all, "\n"), "nothing more")
	}
	return fmt.Sprintf("the file has\n%s\nthe code has\n%s", only(file, generated), only(generated, file))
}

// message writes a message as files do.
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
		repeated := ""
		if f.IsList() {
			repeated = "repeated "
		}
		out += fmt.Sprintf("%s  %s%s %s = %d;\n", inner, repeated, typeName(f), f.Name(), f.Number())
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
	lines := []string{fmt.Sprintf("enum %s {", e.Name())}
	for i := range e.Values().Len() {
		lines = append(lines, fmt.Sprintf("  %s = %d;", e.Values().Get(i).Name(), e.Values().Get(i).Number()))
	}
	return strings.Join(append(lines, "}"), "\n")
}
