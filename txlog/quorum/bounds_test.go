package quorum

import (
	"context"
	"crypto/ed25519"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/transport/memory"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
	"github.com/conchhq/conch/txlog/store"
)

// still returns a host whose loop takes nothing, as while it waits for a disk.
func still(t *testing.T) (h *Host, net *memory.Network) {
	t.Helper()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	public, _ := key.Public().(ed25519.PublicKey)
	g := txlog.Genesis{Namespace: "flags", Machine: "kv/1", Members: []txlog.Member{{Name: "n1", Key: txlog.Fingerprint(public), Store: 1}}}.With()
	net = memory.New(1)
	end := net.Join("n1")
	line, err := end.Open("log")
	if err != nil {
		t.Fatal(err)
	}
	h, err = New(Config{
		Self: "n1", Key: key, New: kv.New, Store: store.NewMemory(1, g), Line: line, Peers: end.Peers,
		Clock: func() time.Duration { return 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	return h, net
}

// The faults of a configuration are an error, and nothing of the store is read with it.
func TestFaultsOfAConfiguration(t *testing.T) {
	t.Parallel()
	h, _ := still(t)
	for name, change := range map[string]func(c *Config){
		"no store": func(c *Config) { c.Store = nil }, "no key": func(c *Config) { c.Key = nil }, "no state machine": func(c *Config) { c.New = nil },
	} {
		c := h.cfg
		if change(&c); !fails(c) {
			t.Errorf("%s is no fault", name)
		}
	}
}

func fails(c Config) bool {
	_, err := New(c)
	return err != nil
}

func aHead(h *Host) []byte {
	return txlog.Head{Position: txlog.Position{Log: h.log, Index: 1}, Member: "n1"}.Sign(h.cfg.Key).Encode()
}

// While the loop waits for the disk, what it is told is bounded: the newest heads count, and an asker that has gone leaves nothing.
func TestInputsAreBounded(t *testing.T) {
	t.Parallel()
	h, _ := still(t)
	head := aHead(h)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20_000 {
		if err := h.Heard(head, "n2"); err != nil {
			t.Fatal(err)
		}
		h.Suggest("n2")
		if _, err := h.Goal(gone, "a", []byte("goal"), 0); !errors.Is(err, txlog.ErrUnknown) {
			t.Fatal(err)
		}
	}
	if n := len(h.inputs) + len(h.heads); n > 1000 || len(h.waiting) > 0 {
		t.Errorf("%d inputs wait, and %d askers", n, len(h.waiting))
	}
}

// There is room for so many askers, and no more.
func TestAskersAreBounded(t *testing.T) {
	t.Parallel()
	h, _ := still(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var tooMany atomic.Int64
	answers := make(chan error)
	for range mostAsking + 10 {
		go func() {
			_, err := h.Goal(ctx, "a", []byte("goal"), 0)
			if errors.Is(err, txlog.ErrTooMany) && tooMany.Add(1) == 10 {
				cancel()
			}
			answers <- err
		}()
	}
	for range mostAsking + 10 {
		<-answers
	}
	if tooMany.Load() != 10 {
		t.Errorf("%d were told that too many wait", tooMany.Load())
	}
}

// What is told to a host that has ended is dropped.
func TestAHostHasEnded(t *testing.T) {
	t.Parallel()
	h, _ := still(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Run(ctx); err != nil {
		t.Fatal(err)
	}
	head := aHead(h)
	for range 10 {
		if err := h.Heard(head, "n2"); err != nil {
			t.Fatal(err)
		}
		h.Suggest("n2")
	}
	if n := len(h.inputs) + len(h.heads); n > 0 {
		t.Errorf("%d inputs are kept", n)
	}
	if _, err := h.Goal(t.Context(), "a", []byte("goal"), 0); !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
}

// However many users ask, the messages of other nodes are read too: without them nothing is committed.
func TestUsersDoNotShutOthersOut(t *testing.T) {
	t.Parallel()
	h, net := still(t)
	other, err := net.Join("n2").Open("log")
	if err != nil {
		t.Fatal(err)
	}
	message, err := wire.Encode(wire.Message{Log: h.log, Body: wire.Confirm{Serial: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		h.put(core.Gone{})
		h.put(core.Gone{})
		h.put(core.Gone{})
		if err := other.Send("n1", message); err != nil {
			t.Fatal(err)
		}
	}
	l, read, errOne := &loop{Host: h}, 0, errors.New("one batch")
	err = step.Hear(t.Context(), step.Loop[core.Input]{From: l, Wait: l.wait, Tick: l.turn, Feed: func(all []core.Input) error {
		for _, in := range all {
			if _, is := in.(core.Received); is {
				read++
			}
		}
		return errOne
	}}, h.cfg.Line.Inbox(), l.received)
	if read != 100 || !errors.Is(err, errOne) {
		t.Errorf("of 100 messages %d were read, and then %v", read, err)
	}
}

// A read that must have more than the copy has, since it was made anew, is answered by nobody; it never has less than what was
// acknowledged (B20). And nobody waits for the core to learn what it knows.
func TestAReadOfTooLittle(t *testing.T) {
	t.Parallel()
	h, _ := still(t)
	if _, _, err := h.query(t.Context(), []byte(`{"count":""}`), 1); !errors.Is(err, txlog.ErrUnknown) {
		t.Errorf("a copy at 0 that must be at 1: %v", err)
	}
	if got, at, err := h.Query(t.Context(), []byte(`{"count":""}`)); err != nil || string(got) != `{"count":0}` || at.Index != 0 {
		t.Errorf("%s at %d, %v", got, at.Index, err)
	}
	h.using <- struct{}{} // the core takes a step that does not end
	if s := h.Status(); s.Log != h.log || len(s.Members) != 1 {
		t.Errorf("its status is %+v", s)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := h.Query(gone, []byte(`{"count":""}`)); !errors.Is(err, txlog.ErrUnknown) {
		t.Errorf("a query that waits no longer: %v", err)
	}
}
