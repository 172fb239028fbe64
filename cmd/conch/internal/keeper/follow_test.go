//go:build unix

package keeper

import (
	"testing"
	"time"
)

func TestCommandTime(t *testing.T) {
	for drain, want := range map[time.Duration]time.Duration{
		20 * time.Second: 18 * time.Second, 5 * time.Second: 4500 * time.Millisecond,
		2 * time.Second: 1500 * time.Millisecond, time.Second: 500 * time.Millisecond,
		400 * time.Millisecond: 200 * time.Millisecond, 0: 0,
	} {
		if got := CommandTime(drain); got != want {
			t.Errorf("CommandTime(%s) is %s, want %s", drain, got, want)
		}
		if got := CommandTime(DrainTime(want)); got < want-2 || got > want+2 {
			t.Errorf("CommandTime(DrainTime(%s)) is %s, where DrainTime is %s", want, got, DrainTime(want))
		}
	}
}
