package wire

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/prototest"
	"github.com/conchhq/conch/sequencer/internal/wire/internal/wirepb"
)

func TestTheCodeIsThatOfTheFile(t *testing.T) {
	t.Parallel()
	prototest.Same(t, "wire.proto", wirepb.File_wire_proto)
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
