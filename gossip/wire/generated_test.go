package wire

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/conchhq/conch/gossip/wire/internal/wirepb"
)

var fieldLine = regexp.MustCompile(`(?m)^  (repeated )?(\w+) (\w+) = (\d+);$`)

// The committed code was generated from the committed gossip.proto, so `make proto` cannot be forgotten.
func TestTheCodeIsThatOfTheFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("gossip.proto")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for block := range strings.SplitSeq(string(text), "\nmessage ") {
		name, _, is := strings.Cut(block, " {")
		if !is {
			continue
		}
		for _, f := range fieldLine.FindAllStringSubmatch(block, -1) {
			want = append(want, strings.Join([]string{name, f[1], f[2], f[3], f[4]}, " "))
		}
	}
	messages := wirepb.File_gossip_proto.Messages()
	for i := range messages.Len() {
		for j := range messages.Get(i).Fields().Len() {
			f := messages.Get(i).Fields().Get(j)
			kind, repeated := f.Kind().String(), ""
			if f.Kind() == protoreflect.MessageKind {
				kind = string(f.Message().Name())
			}
			if f.IsList() {
				repeated = "repeated "
			}
			got = append(got, strings.Join([]string{string(messages.Get(i).Name()), repeated, kind, string(f.Name()), strconv.Itoa(int(f.Number()))}, " "))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || len(got) < 15 {
		t.Errorf("run make proto: the generated code has\n%s\nand gossip.proto\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
