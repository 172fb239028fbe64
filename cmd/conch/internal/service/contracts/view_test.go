package contracts

import (
	"testing"

	"github.com/conchhq/conch/sequencer/ledger"
)

func TestIDs(t *testing.T) {
	t.Parallel()
	s := ledger.Sequence{Lineage: 1<<63 | 5, Counter: 260}
	id := idOf(s)
	if back, is := sequenceOf(id); id != "80000000000000050000000000000104" || back != s || !is {
		t.Errorf("got %s, and back %v, %v", id, back, is)
	}
	for _, bad := range []string{"", "8", id + "00", "zz" + id[2:], "00000000000000000000000000000001", "00000000000000010000000000000000"} {
		if s, is := sequenceOf(bad); is {
			t.Errorf("%q is taken for %v", bad, s)
		}
	}
}

// A domain may have payloads that are no JSON.
func TestPayloads(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{`{"pay":1}`: `{"pay":1}`, "\x00{": `"0x007b"`, "": `"0x"`} {
		if got := string(requestOf([]byte(payload))); got != want {
			t.Errorf("%q is shown as %s, want %s", payload, got, want)
		}
	}
}
