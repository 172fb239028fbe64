package wire

import (
	"testing"

	"github.com/conchhq/conch/gossip/internal/wire/internal/wirepb"
	"github.com/conchhq/conch/internal/prototest"
)

func TestTheCodeIsThatOfTheFile(t *testing.T) {
	t.Parallel()
	prototest.Same(t, "gossip.proto", wirepb.File_gossip_proto)
}
