package disk_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/storetest"
	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/store"
)

// patience is for a busy machine.
const patience = time.Minute

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Exercise(t, func(t *testing.T, g txlog.Genesis) storetest.Room {
		path := filepath.Join(t.TempDir(), "log")
		create(t, path)
		return &room{T: t, path: path, store: begin(t, path, g)}
	})
}

// room reopens a store in a file.
type room struct {
	*testing.T
	path  string
	store *disk.Store
}

func (r *room) Store() store.Store { return r.store }

func (r *room) Reopen() store.Store {
	if err := r.store.Close(); err != nil {
		r.Fatal(err)
	}
	r.store = open(r.T, r.path)
	return r.store
}

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// create makes a store and returns its id.
func create(t testing.TB, path string) uint64 {
	t.Helper()
	id, err := disk.Create(within(t), path)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// begin begins a log in a store.
func begin(t testing.TB, path string, g txlog.Genesis) *disk.Store {
	t.Helper()
	s, err := disk.Begin(within(t), path, g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// open opens a store.
func open(t testing.TB, path string) *disk.Store {
	t.Helper()
	s, err := disk.Open(within(t), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// readOnly opens a store to read it.
func readOnly(t testing.TB, path string) *disk.Store {
	t.Helper()
	s, err := disk.OpenReadOnly(within(t), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// briefly returns a context for what does not come.
func briefly(t testing.TB) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), 100*time.Millisecond)
}
