package disk

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// A state in which something was flipped is damaged, whatever version it seems to be of: somebody would look for a newer program
// for ever. One that a newer program has written says so (V7).
func TestAFlippedStateIsNoNewerVersion(t *testing.T) {
	t.Parallel()
	begin := func(framed []byte) error { return (&content{}).takeState(7, only, framed) }
	whole := state{Format: format, Transaction: 7, ID: 5}
	framed := frame(whole.ID, stateBucket, only, whole.encode())
	if err := begin(framed); err != nil {
		t.Fatal(err)
	}
	for i := range framed {
		for _, bit := range []byte{1, 0x80, 0xff} {
			framed[i] ^= bit
			if err := begin(framed); !errors.Is(err, store.ErrDamaged) || errors.Is(err, txlog.ErrVersion) {
				t.Errorf("with byte %d flipped: %v", i, err)
			}
			framed[i] ^= bit
		}
		if err := begin(framed[:i]); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("with %d bytes: %v", i, err)
		}
	}
	newer := append(binary.BigEndian.AppendUint32(nil, format+1), whole.encode()[4:20]...)
	newer = append(newer, "and what nobody knows yet"...)
	if err := begin(frame(whole.ID, stateBucket, only, newer)); !errors.Is(err, txlog.ErrVersion) || errors.Is(err, store.ErrDamaged) {
		t.Errorf("of a newer version: %v", err)
	}
}
