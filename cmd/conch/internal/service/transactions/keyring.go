package transactions

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/chain/keyservice"
	"github.com/conchhq/conch/cmd/conch/internal/config"
)

const (
	checkPatience  = 3 * time.Second
	signerPatience = time.Minute // a person may have to confirm
)

// keyring keeps opened keys, so that a term does not begin with the second that opening takes, and the signers of services, so that
// a term knows what the last one has learned of theirs.
type keyring struct {
	mu      sync.Mutex
	keys    map[[sha256.Size]byte]*evm.Keystore // by the hash of their files
	remotes map[[2]string]*evm.Remote           // by service and address
}

func newKeyring() *keyring {
	return &keyring{keys: map[[sha256.Size]byte]*evm.Keystore{}, remotes: map[[2]string]*evm.Remote{}}
}

// open makes an account's signer. Its error quotes nothing of the files.
func (k *keyring) open(a Account) (evm.Signer, error) {
	if _, _, is := a.keyService(); is {
		return k.remote(a)
	}
	if a.Signer != "" {
		return evm.NewExternal(a.Address, a.Signer, a.SignerMethod, signerPatience), nil
	}
	sum, err := sumOf(a.Keystore, a.PasswordFile)
	if err != nil {
		return nil, err
	}
	key := k.kept(sum)
	if key == nil {
		if key, err = evm.OpenKeystore(a.Keystore, a.PasswordFile); err != nil {
			return nil, err
		}
		k.keep(sum, key)
	}
	if key.Account() != a.Address {
		return nil, fmt.Errorf("%w: the keystore holds the key of %v, the configuration says %v: correct one of them", chain.ErrKey, key.Account(), a.Address)
	}
	return key, nil
}

// remote returns the signer by a service, the same for the same key.
func (k *keyring) remote(a Account) (*evm.Remote, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := [2]string{a.Signer, string(a.Address)}
	if kept := k.remotes[at]; kept != nil {
		return kept, nil
	}
	made, err := openRemote(a)
	if err == nil {
		k.remotes[at] = made
	}
	return made, err
}

func (k *keyring) kept(sum [sha256.Size]byte) *evm.Keystore {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keys[sum]
}

func (k *keyring) keep(sum [sha256.Size]byte, key *evm.Keystore) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys[sum] = key
}

func sumOf(files ...string) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return sum, err
		}
		part := sha256.Sum256(text)
		h.Write(part[:])
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// opensAtOnce bounds how many keys are opened at once: one of the usual cost takes 256 MiB, and a processor for the
// better part of a second.
const opensAtOnce = 4

// openAll opens the keys of all accounts, and looks at those of services: one of another account or curve is a fault, and what else
// keeps a service from signing is told to away, since it may pass.
func (k *keyring) openAll(ctx context.Context, c config.Config, accounts []Account, away func(Account, error)) error {
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	errs := make([]error, len(accounts))
	slots := make(chan struct{}, min(opensAtOnce, runtime.GOMAXPROCS(0)))
	var opening sync.WaitGroup
	for i, a := range accounts {
		slots <- struct{}{}
		opening.Go(func() {
			defer func() { <-slots }()
			signer, err := k.open(a)
			if remote, is := signer.(*evm.Remote); is && err == nil {
				if err = remote.Check(ctx); err != nil && !wrongKey(err) {
					away(a, err)
					err = nil
				}
			}
			if errs[i] = err; err == nil {
				disconnect(signer)
			}
		})
	}
	opening.Wait()
	var faults []config.Fault
	for i, err := range errs {
		if err != nil {
			faults = append(faults, c.Fault(fmt.Sprintf("accounts[%d]", i), err.Error()))
		}
	}
	return c.Faults(faults)
}

// wrongKey reports whether nobody but the author of the configuration can mend a fault.
func wrongKey(err error) bool {
	kind, is := keyservice.KindOf(err)
	return is && (kind == keyservice.Foreign || kind == keyservice.Unfit)
}

// disconnect calls Close if there is such a method.
func disconnect(one any) {
	if closer, ok := one.(interface{ Close() }); ok {
		closer.Close()
	}
}

// sayUnsupported is the remedy for a chain on which nothing can be signed.
const sayUnsupported = "take the chain and its accounts out of the configuration"

// sayFinality is the remedy for a chain of which it is not known which blocks are final.
const sayFinality = `set finality of this chain to the number of blocks below its head at which a block is final, or to "instant" if a block is final at once`

// compareChains asks every endpoint which chain it serves, and returns an error if it is not the
// configured one, or if nothing says which of its blocks are final. An endpoint that does not answer
// is only logged.
func (s *service) compareChains(ctx context.Context, accounts []Account) error {
	if s.dial != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	var chains []Chain
	for _, a := range accounts {
		if !slices.Contains(chains, a.Chain) {
			chains = append(chains, a.Chain)
		}
	}
	faults := make([]error, len(chains))
	var asking sync.WaitGroup
	for i, c := range chains {
		asking.Go(func() {
			driver, err := connect(c, s.aboutEndpoints(c), nil, nil)
			if err != nil {
				faults[i] = err
				return
			}
			defer disconnect(driver)
			_, err = driver.Describe(ctx)
			switch {
			case errors.Is(err, chain.ErrForeign):
				faults[i] = err
			case errors.Is(err, chain.ErrUnsupported):
				faults[i] = fmt.Errorf("chain %q: %w: %s", c.Name, err, sayUnsupported)
			case errors.Is(err, chain.ErrFinality):
				faults[i] = fmt.Errorf("chain %q: %w: %s", c.Name, err, sayFinality)
			case err != nil:
				s.frame.Log.Error("CHAIN UNREACHABLE: transactions are accepted, and none is sent", slog.String("chain", c.Name), slog.Any("error", err))
			}
		})
	}
	asking.Wait()
	return errors.Join(faults...)
}
