package keyservicetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/keyservice"
)

// Service is a client of a service.
type Service interface {
	fmt.Stringer
	PublicKey(ctx context.Context) ([]byte, error)
	SignHash(ctx context.Context, hash [32]byte) ([]byte, error)
}

const atOnce = 32

// opaque is a key whose signatures only the test understands: a client passes them on.
func opaque() Key {
	return Key{Public: []byte("public a"), Sign: func(hash []byte) []byte { return append([]byte("a"), hash...) }}
}

// Exercise runs the suite: what a client returns, what each failure is called, and that no error shows a secret.
func Exercise(t *testing.T, p Provider, open func(t *testing.T, s *StandIn) Service) {
	t.Run("signs", func(t *testing.T) { signs(t, p, open) })
	t.Run("faults", func(t *testing.T) { faults(t, p, open) })
	t.Run("side by side", func(t *testing.T) { sideBySide(t, p, open) })
	t.Run("silence", func(t *testing.T) { silence(t, p, open) })
}

func signs(t *testing.T, p Provider, open func(t *testing.T, s *StandIn) Service) {
	t.Parallel()
	s := Start(t, p, opaque())
	c := open(t, s)
	key, err := c.PublicKey(t.Context())
	if err != nil || string(key) != "public a" {
		t.Errorf("got the public key %q, %v, want that of the stand-in", key, err)
	}
	hash := sha256.Sum256([]byte("x"))
	signature, err := c.SignHash(t.Context(), hash)
	if err != nil || !bytes.Equal(signature, append([]byte("a"), hash[:]...)) {
		t.Errorf("got the signature %x, %v, want that of the stand-in", signature, err)
	}
	if bad := s.Complaints(); len(bad) > 0 {
		t.Errorf("the stand-in complains: %q", bad)
	}
	if !strings.Contains(c.String(), s.Name) {
		t.Errorf("the client is %q, want it to name the key", c)
	}
}

func faults(t *testing.T, p Provider, open func(t *testing.T, s *StandIn) Service) {
	t.Parallel()
	s := Start(t, p, opaque())
	c := open(t, s)
	kinds := []keyservice.Kind{keyservice.Throttled, keyservice.Away, keyservice.Denied, keyservice.Disabled, keyservice.Missing, keyservice.Refused}
	if p != Google { // it has no code of its own for that
		kinds = append(kinds, keyservice.Unfit)
	}
	for _, want := range kinds {
		s.Break(want)
		before := s.Calls()
		_, err := c.SignHash(t.Context(), [32]byte{})
		judge(t, c, err, want)
		if calls := s.Calls() - before; calls != 1 {
			t.Errorf("%v: it was asked %d times, want once: the caller says when it is asked again", err, calls)
		}
		_, err = c.PublicKey(t.Context())
		judge(t, c, err, want)
	}
	s.Mend()
	s.Garble()
	_, err := c.SignHash(t.Context(), [32]byte{})
	judge(t, c, err, keyservice.Refused)
	s.Mend()
	if _, err := c.SignHash(t.Context(), [32]byte{}); err != nil {
		t.Errorf("once all is well again: got %v, want a signature", err)
	}
}

// judge looks at an error.
func judge(t *testing.T, c Service, err error, want keyservice.Kind) {
	t.Helper()
	f, is := errors.AsType[*keyservice.FaultError](err)
	if !is || f.Kind != want || !errors.Is(err, chain.ErrKey) || !strings.Contains(err.Error(), c.String()) {
		t.Errorf("got error %v, want a fault of kind %d that names %s", err, want, c)
		return
	}
	if f.Passes() != (want == keyservice.Throttled || want == keyservice.Away) {
		t.Errorf("%v: it passes: %v", err, f.Passes())
	}
	for _, said := range []string{err.Error(), fmt.Sprintf("%+v %#v", c, f)} {
		for _, secret := range []string{"hunter2", Token, SecretKey, "Bearer", "Signature=", "\x1b"} {
			if strings.Contains(said, secret) {
				t.Errorf("it shows %q: %s", secret, said)
			}
		}
	}
}

// Signatures of several transactions are made at once: the stand-in lets none go before all are asked for.
func sideBySide(t *testing.T, p Provider, open func(t *testing.T, s *StandIn) Service) {
	t.Parallel()
	s := Start(t, p, opaque())
	c := open(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s.HoldUntil(atOnce)
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			if _, err := c.SignHash(ctx, [32]byte{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// A service that does not answer is left when the caller's time is up, and one that is not there at once.
func silence(t *testing.T, p Provider, open func(t *testing.T, s *StandIn) Service) {
	t.Parallel()
	s := Start(t, p, opaque())
	c := open(t, s)
	s.Hang()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := c.SignHash(ctx, [32]byte{})
	judge(t, c, err, keyservice.Away)
	gone := Start(t, p, opaque())
	gone.URL = "http://127.0.0.1:1"
	if p == Google {
		gone.account.url = gone.URL
	}
	_, err = open(t, gone).SignHash(t.Context(), [32]byte{})
	if kind, is := keyservice.KindOf(err); !is || kind != keyservice.Away || strings.Contains(err.Error(), gone.URL) {
		t.Errorf("got error %v, want that the service does not answer", err)
	}
}
