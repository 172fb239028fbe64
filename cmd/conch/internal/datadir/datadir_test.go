//go:build unix

package datadir_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/datadir"
)

func TestOneNodeAFolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deep", "data")
	if _, err := datadir.Find(path); !errors.Is(err, datadir.ErrNoNode) {
		t.Errorf("a folder that is not: %v", err)
	}
	d, err := datadir.Take(path)
	if err != nil {
		t.Fatal(err)
	}
	if pid, err := datadir.Find(path); err != nil || pid != os.Getpid() {
		t.Errorf("found %d, %v", pid, err)
	}
	if _, err := datadir.Take(path); !errors.Is(err, datadir.ErrTaken) {
		t.Errorf("a second node: %v", err)
	}
	for seq := int64(1); seq < 3; seq++ {
		if err := d.Write(map[string]bool{"ok": true}); err != nil {
			t.Fatal(err)
		}
		if r, err := datadir.Read(path); err != nil || r.Seq != seq || string(r.Answer) != `{"ok":true}` {
			t.Errorf("result %+v, %v", r, err)
		}
	}
	d.Release()
	if _, err := datadir.Find(path); !errors.Is(err, datadir.ErrNoNode) {
		t.Errorf("after its node's end: %v", err)
	}
	again, err := datadir.Take(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Release()
	if err := again.Write(1); err != nil {
		t.Fatal(err)
	}
	if r, _ := datadir.Read(path); r.Seq != 3 {
		t.Errorf("the numbers began again: %+v", r)
	}
}

// What a killed node leaves names a process that is somebody else's by now.
func TestAFileWithoutANode(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "conch.pid"), []byte("1234\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if pid, err := datadir.Find(path); !errors.Is(err, datadir.ErrNoNode) {
		t.Errorf("found %d, %v", pid, err)
	}
}

// Whoever looks for a node at the moment in which it starts does not keep it from that.
func TestALookIsNoNode(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	var over atomic.Bool
	var looking sync.WaitGroup
	looking.Go(func() {
		for !over.Load() {
			_, _ = datadir.Find(path)
		}
	})
	for range 200 {
		d, err := datadir.Take(path)
		if err != nil {
			t.Error(err)
			break
		}
		d.Release()
	}
	over.Store(true)
	looking.Wait()
}
