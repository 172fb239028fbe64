package bare_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/bare"
	"github.com/conchhq/conch/txlog/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A ceiling that does not decide would be too good: five members do, and a majority has stored it.
func TestFiveDecide(t *testing.T) {
	t.Parallel()
	var stores []store.Store
	for i := range 5 {
		stores = append(stores, store.NewMemory(uint64(i+1), txlog.Genesis{Namespace: "bare", Machine: "none/1"}.With()))
	}
	c, err := bare.Open(t.Context(), stores)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 20 {
		if err := c.Ask(ctx, make([]byte, 100)); err != nil {
			t.Error(err)
		}
	}
	if stored := c.Stored(); stored[0] < 20 || stored[1]+stored[2]+stored[3]+stored[4] < 40 {
		t.Errorf("20 bodies were decided on, and the members have %v entries: want a majority with all of them", stored)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
