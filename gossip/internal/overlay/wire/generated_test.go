package wire

import (
	"testing"

	"github.com/conchhq/conch/gossip/internal/overlay/wire/internal/wirepb"
	"github.com/conchhq/conch/internal/prototest"
)

// The tests know each kind of message that the file has.
func TestTheCodeIsThatOfTheFile(t *testing.T) {
	t.Parallel()
	prototest.Same(t, "spray.proto", wirepb.File_spray_proto)
	if of := wirepb.File_spray_proto.Messages().ByName("Envelope").Oneofs().ByName("body").Fields(); of.Len() != len(each) {
		t.Errorf("%d bodies, and the tests know %d kinds", of.Len(), len(each))
	}
}
