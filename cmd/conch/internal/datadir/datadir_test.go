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
		t.Errorf("a missing folder: got %v, want ErrNoNode", err)
	}
	d, err := datadir.Take(path)
	if err != nil {
		t.Fatal(err)
	}
	if pid, err := datadir.Find(path); err != nil || pid != os.Getpid() {
		t.Errorf("found %d, %v", pid, err)
	}
	if _, err := datadir.Take(path); !errors.Is(err, datadir.ErrTaken) {
		t.Errorf("a second node: got %v, want ErrTaken", err)
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
		t.Errorf("after the end of its node: got %v, want ErrNoNode", err)
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
		t.Errorf("result %+v of the next node, want Seq 3", r)
	}
}

// The file of a killed node names a process that may be another program by now.
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

// Looking for a node does not keep one from starting.
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

// A full disk keeps no node from starting: here the file that has its process number is one of the device that is always full.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(path, "conch.pid")); err != nil {
		t.Fatal(err)
	}
	d, err := datadir.Take(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	if _, err := datadir.Find(path); !errors.Is(err, datadir.ErrNoNode) {
		t.Errorf("found %v", err)
	}
}
