package mtls

import (
	"bytes"
	"testing"

	"github.com/conchhq/conch/transport"
)

// Whatever arrives is read without a panic, and what is read is what was written: no two packets mean the same.
func FuzzPackets(f *testing.F) {
	claims := map[string]transport.Claims{"sequencer": {"a": {1}, "b": nil}, "log": {"a": {2}}}
	f.Add((&hello{version: version, from: "north", claims: claims}).packet())
	f.Add(appendFrame(appendFrame([]byte{kindBatch}, "sequencer", []byte("body")), "", nil))
	f.Add([]byte{kindHello, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{kindBatch, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, packet []byte) {
		if len(packet) == 0 {
			return
		}
		if h, err := readHello(packet[1:]); err == nil && h.version == version {
			again, err := readHello(h.packet()[1:])
			if err != nil || !bytes.Equal(again.packet(), h.packet()) || len(h.from) > mostName {
				t.Errorf("a hello changes when it is written again: %+v, error %v", h, err)
			}
		}
		again, size := []byte{kindBatch}, 0
		err := readBatch(packet[1:], func(subject, body []byte) {
			size += len(body)
			again = appendFrame(again, string(subject), body)
		})
		if size > len(packet) {
			t.Errorf("%d bytes came out of %d", size, len(packet))
		}
		if err == nil {
			if e := readBatch(again[1:], func([]byte, []byte) {}); e != nil {
				t.Errorf("a batch cannot be read when it is written again: %v", e)
			}
		}
	})
}

func TestClaimsTwice(t *testing.T) {
	t.Parallel()
	h := hello{version: version, from: "a", claims: map[string]transport.Claims{"s": {"k": {1}}}}
	packet := h.packet()
	one := packet[len(packet)-6:] // "s", "k", 1 with their lengths
	twice := append(bytes.Clone(packet), one...)
	twice[len(packet)-7] = 2
	if _, err := readHello(twice[1:]); err == nil {
		t.Error("a hello that claims one key twice was read")
	}
}
