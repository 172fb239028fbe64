package disk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/storetest"
	"github.com/conchhq/conch/txlog/store"
)

// A record of a kind that this program does not know is of a newer one, and the store is not damaged: it is refused, and keeps
// what it has promised for the program that can read it. One that was flipped into such a kind is damaged.
func TestASlotOfANewerProgram(t *testing.T) {
	t.Parallel()
	records, err := storetest.Grow(storetest.Copy(storetest.Genesis(1)), 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	raw := bytes.Clone(records[0].Raw())
	raw[1] = 99 // its kind
	for what, sum := range map[string]txlog.Hash{"newer": txlog.HashRecord(raw), "flipped": records[0].Hash()} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		path := filepath.Join(t.TempDir(), "log")
		id, err := Create(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Begin(ctx, path, storetest.Genesis(1))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Write(store.Step{Slots: []store.Slot{{Index: 2, Body: []byte("body")}}}), s.Close()); err != nil {
			t.Fatal(err)
		}
		rewrite(t, path, number(2), func(body []byte) []byte {
			bound := append(binary.AppendUvarint(nil, uint64(len(body))), body...)
			c := checksum(id, slotBucket, number(2), append(bytes.Clone(bound), sum[:]...))
			return append(append(c[:], bound...), raw...)
		})
		_, err = Open(ctx, path)
		_, marked := os.Stat(path + marked)
		switch {
		case what == "newer" && (!errors.Is(err, txlog.ErrVersion) || errors.Is(err, store.ErrDamaged) || !errors.Is(marked, fs.ErrNotExist)):
			t.Errorf("a slot of a newer program: %v, and the mark: %v", err, marked)
		case what == "flipped" && (!errors.Is(err, store.ErrDamaged) || errors.Is(err, txlog.ErrVersion) || marked != nil):
			t.Errorf("a slot that was flipped: %v, and the mark: %v", err, marked)
		}
	}
}

// rewrite stores another value for a slot, in a transaction that is whole.
func rewrite(t *testing.T, path string, key []byte, framed func(body []byte) []byte) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second, PageSize: pageSize, NoFreelistSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		state, err := decodeState(tx.Bucket(names[stateBucket]).Get(only)[32:])
		if err != nil {
			return err
		}
		c := &change{tx: tx, state: state}
		for i := range c.open {
			c.open[i] = tx.Bucket(names[i])
		}
		c.unsum(slotBucket, key)
		c.set(slotBucket, key, framed([]byte("body")))
		c.state.Transaction = uint64(tx.ID())
		c.put(stateBucket, only, c.state.encode())
		return c.err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
