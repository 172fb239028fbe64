package transactions

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/node"
)

// sharer is a process of a drawn cluster.
type sharer struct {
	share        share
	up, leads    bool
	nextLook     time.Time
	leadsVisible bool // as others count it
}

// W9: processes come, go, die, take over and look when they like, and the parts of those that live are never more than a
// tenth above the whole.
func TestTheWholeIsKeptTo(t *testing.T) {
	t.Parallel()
	const whole = 100
	for seed := range uint64(300) {
		draw := rand.New(rand.NewPCG(seed, 3))
		all := make([]*sharer, 1+draw.IntN(6))
		for i := range all {
			all[i] = &sharer{share: newShare(whole)}
		}
		now := time.Unix(0, 0)
		most, served := 0.0, 0
		for range 3000 {
			now = now.Add(50 * time.Millisecond)
			one := all[draw.IntN(len(all))]
			switch draw.IntN(60) {
			case 0: // it begins or dies; a new process knows nothing
				up := !one.up
				*one = sharer{share: newShare(whole), up: up, nextLook: now}
			case 1:
				if one.up && !one.leads {
					one.leads, one.nextLook = true, now // it looks at once
				}
			case 2:
				if one.leads {
					one.leads = false
					one.share.leave()
					one.nextLook = now.Add(time.Duration(draw.IntN(1000)) * time.Millisecond)
				}
			}
			for _, s := range all {
				if s.up && !now.Before(s.nextLook) {
					s.leadsVisible = s.leads // what others count from now on
					s.nextLook = now.Add(lookAround + time.Duration(draw.IntN(1500))*time.Millisecond)
					s.share.see(now, around(all, s))
				}
			}
			sum := 0.0
			for _, s := range all {
				if s.up {
					sum += s.share.part
				}
			}
			if most = max(most, sum); sum > 0.99*whole {
				served++
			}
		}
		if most > 1.1*whole {
			t.Fatalf("seed %d: %d processes had parts of %.1f together", seed, len(all), most)
		}
		if served < 100 {
			t.Errorf("seed %d: the whole was used in %d of 3000 moments", seed, served)
		}
	}
}

// around is what a process counts.
func around(all []*sharer, of *sharer) (c company) {
	for _, s := range all {
		if s.up {
			c.all++
			if s.leadsVisible && (s.leads || s != of) {
				c.leaders++
			}
		}
	}
	c.leads = of.leads
	return c
}

// The usual cases: three processes of which one leads, its death, two leaders, and a database that does not answer.
func TestShares(t *testing.T) {
	t.Parallel()
	s := newShare(100)
	at := time.Unix(0, 0)
	for i, c := range []struct {
		after time.Duration
		seen  company
		want  float64
	}{
		{0, company{all: 3}, 100.0 / 60},
		{time.Second, company{all: 3, leaders: 1}, 100.0 / 60},
		{0, company{all: 2, leaders: 1, leads: true}, 100}, // the leader has died
		{time.Second, company{all: 3, leaders: 2, leads: true}, 50},
		{time.Second, company{all: 3, leaders: 1, leads: true}, 50},
		{settles, company{all: 3, leaders: 1, leads: true}, 100},
		{time.Hour, company{all: 3, leaders: 2, leads: true, afresh: true}, 100.0 / 60}, // it could not ask: others may have grown
		{settles - 1, company{all: 3, leaders: 2, leads: true}, 100.0 / 60},
		{1, company{all: 3, leaders: 2, leads: true}, 50},
		{time.Second, company{all: 4, leaders: 4, leads: true}, 25},
		{time.Second, company{all: 4, leaders: 1, leads: true}, 25},
		{time.Second, company{all: 4, leaders: 2, leads: true}, 25}, // another one has begun meanwhile
		{settles, company{all: 4, leaders: 1, leads: true}, 50},
		{time.Second, company{all: 4, leaders: 1}, 100.0 / 80},
		{time.Second, company{all: 2, leaders: 1}, 100.0 / 80},
		{settles - 1, company{all: 2, leaders: 2, leads: true}, 100.0 / 80}, // its wait begins when it begins to lead
		{settles - 1, company{all: 2, leaders: 2, leads: true}, 100.0 / 80},
		{1, company{all: 2, leaders: 2, leads: true}, 50},
	} {
		at = at.Add(c.after)
		if got := s.see(at, c.seen); fmt.Sprintf("%.3f", got) != fmt.Sprintf("%.3f", c.want) {
			t.Errorf("step %d, after %+v: the part is %.3f, want %.3f", i, c.seen, got, c.want)
		}
	}
	s = newShare(100) // the one before has left, and was still counted when this one began
	s.see(at, company{all: 2, leaders: 2, leads: true})
	if got := s.see(at.Add(time.Second), company{all: 2, leaders: 1, leads: true}); got != 100 {
		t.Errorf("alone a second after it began: the part is %v, want 100", got)
	}
	if got := s.leave(); got != 2.5 {
		t.Errorf("after the end of its term the part is %v, want 2.5", got)
	}
}

// Another service finds an account by its name, and signs with its key.
func TestAnAccountForOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, password := filepath.Join(dir, "key"), filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address, err := evm.WriteKeystore(file, "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318", "secret", evm.NoCost)
	if err != nil {
		t.Fatal(err)
	}
	desk := new(node.Accounts)
	if _, err := desk.Find("ops"); !errors.Is(err, node.ErrNoAccount) {
		t.Errorf("before there is a service: got error %v, want ErrNoAccount", err)
	}
	s := newService(node.Frame{ID: "n1", Log: slog.New(slog.DiscardHandler), Over: t.Context(), Accounts: desk, Go: func(func()) {}}, nil)
	a := Account{
		Name: "ops", Address: address, Keystore: file, PasswordFile: password,
		Chain: Chain{Name: "main", Kind: KindEVM, ChainID: 5, Endpoints: [mostEndpoints]Endpoint{{URL: "http://127.0.0.1:1"}}},
	}
	use, err := s.accounts.prepare([]Account{a})
	if err != nil {
		t.Fatal(err)
	}
	use()
	found, err := desk.Find("ops")
	if err != nil || found.Address != address || found.Chain != "main" || found.ID != 5 || len(found.Endpoints) != 1 {
		t.Fatalf("found %+v, error %v", found, err)
	}
	hash := [32]byte{7}
	signature, err := found.Sign(hash)
	if err != nil || len(signature) != 65 {
		t.Fatalf("the signature is %x, error %v", signature, err)
	}
	signature[64] -= 27
	key, err := crypto.SigToPub(hash[:], signature)
	if err != nil || crypto.PubkeyToAddress(*key) != [20]byte([]byte(address)) {
		t.Errorf("it is not the account's: error %v", err)
	}
	if _, err := desk.Find("other"); !errors.Is(err, node.ErrNoAccount) {
		t.Errorf("an unknown name: got error %v, want ErrNoAccount", err)
	}
}
