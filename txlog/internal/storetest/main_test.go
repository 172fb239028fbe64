package storetest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/storetest"
	"github.com/conchhq/conch/txlog/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	t.Parallel()
	storetest.Exercise(t, func(t *testing.T, g txlog.Genesis) storetest.Room { return room{store.NewMemory(7, g)} })
}

type room struct{ *store.Memory }

func (r room) Store() store.Store { return r.Memory }

// Reopen: a store in memory ends with its process.
func (r room) Reopen() store.Store { return nil }
