package explorer

import (
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// A deed reads as in pgaccount; only a transaction that does nothing is a filler.
func TestDeed(t *testing.T) {
	const own, other = "0xaB", "0xcD"
	for _, c := range []struct {
		tx   transaction
		want string
	}{
		{transaction{From: own, To: other, Value: "0x10", Input: "0xFE"}, "0xcd 16 0xfe"},
		{transaction{From: own, To: other, Value: "0x0", Input: "0x"}, "0xcd 0 0x"},
		{transaction{From: own, Value: "0x0", Input: "0xfe"}, "0x 0 0xfe"}, // creates a contract
		{transaction{From: own, To: "0xAb", Value: "0x0", Input: "0x"}, evidence.Nothing},
		{transaction{From: own, To: own, Value: "0x1", Input: "0x"}, "0xab 1 0x"},
		{transaction{From: own, To: own, Value: "0x0", Input: "0x00"}, "0xab 0 0x00"},
		{transaction{From: own, To: other, Value: "0xffffffffffffffffffffffff", Input: "0x"}, "0xcd 79228162514264337593543950335 0x"},
	} {
		if got, err := c.tx.deed(); got != c.want || err != nil {
			t.Errorf("%+v: got %q, %v; want %q", c.tx, got, err, c.want)
		}
	}
	if does, err := (transaction{From: own, To: other, Value: "much", Input: "0x"}).deed(); err == nil {
		t.Errorf("a value that is no number gives %q, want an error", does)
	}
}
