package disk_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/store"
)

// A file of another kind is told to be that. It counts as damaged all the same: a store of which the first two pages are lost looks
// no other way. One of them that is lost leaves a store, and so does one that is cut off after them.
func TestFilesOfAnotherKind(t *testing.T) {
	t.Parallel()
	all := newSample(t)
	lost := func(pages ...int) []byte {
		b := bytes.Clone(all.newer)
		for _, n := range pages {
			copy(b[n*page:(n+1)*page], make([]byte, page))
		}
		return b
	}
	other := filepath.Join(t.TempDir(), "other")
	db, err := bolt.Open(other, 0o600, &bolt.Options{PageSize: 2 * page})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	ofTheLibrary, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		bytes   []byte
		foreign bool
	}{
		"nothing":               {nil, true},
		"a text":                {[]byte("[node]\nlisten = \"127.0.0.1:7070\"\n"), true},
		"a long one":            {bytes.Repeat([]byte("a line of a text\n"), 4000), true},
		"of the same library":   {ofTheLibrary, true},
		"without its beginning": {lost(0, 1), true},
		"without a page":        {lost(0), false},
		"without another one":   {lost(1), false},
		"cut off":               {all.newer[:2*page], false},
		"cut off early":         {all.newer[:page/2], false},
	} {
		path := filepath.Join(t.TempDir(), "log")
		write(t, path, c.bytes)
		_, err := disk.OpenReadOnly(t.Context(), path)
		if !errors.Is(err, store.ErrDamaged) || errors.Is(err, disk.ErrForeign) != c.foreign {
			t.Errorf("%s: %v", name, err)
		}
		if d, is := errors.AsType[*disk.DamageError](err); !is || d.Path != path {
			t.Errorf("%s: %v does not name its file", name, err)
		}
	}
}

// What is no file is no damage: nobody may move a folder aside.
func TestWhatIsNoFile(t *testing.T) {
	t.Parallel()
	for _, path := range []string{t.TempDir(), os.DevNull} {
		_, err := disk.Open(t.Context(), path)
		if !errors.Is(err, disk.ErrForeign) || errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
