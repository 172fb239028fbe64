package evm_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"math/big"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/chain/keyservice"
)

// keeper is a key service in this process, which takes its time.
type keeper struct {
	key    *ecdsa.PrivateKey
	public []byte // instead of the key's
	high   bool   // s is the high one
	takes  time.Duration
	quota  int // signatures in a second; 0: any number

	mu    sync.Mutex
	fails keyservice.Kind // Refused: it works
	hangs bool
	calls int
	used  map[int64]int // signatures by second
}

func newKeeper() *keeper {
	key, _ := crypto.HexToECDSA(secretKey)
	return &keeper{key: key, used: map[int64]int{}}
}

func (k *keeper) account() chain.Account {
	a := crypto.PubkeyToAddress(k.key.PublicKey)
	return chain.Account(a[:])
}

func (k *keeper) String() string { return "the keeper" }

func (k *keeper) PublicKey(context.Context) ([]byte, error) {
	if k.public != nil {
		return k.public, nil
	}
	return publicKey(crypto.FromECDSAPub(&k.key.PublicKey)), nil
}

// publicKey writes a point of secp256k1 as services do.
func publicKey(point []byte) []byte {
	type algorithm struct{ ID, Curve asn1.ObjectIdentifier }
	der, _ := asn1.Marshal(struct {
		Algorithm algorithm
		Key       asn1.BitString
	}{algorithm{asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}, asn1.ObjectIdentifier{1, 3, 132, 0, 10}}, asn1.BitString{Bytes: point, BitLength: 8 * len(point)}})
	return der
}

func (k *keeper) SignHash(ctx context.Context, hash [32]byte) ([]byte, error) {
	k.mu.Lock()
	k.calls++
	fails, hangs := k.fails, k.hangs
	second := time.Now().Unix()
	if k.used[second]++; k.quota > 0 && k.used[second] > k.quota {
		fails = keyservice.Throttled
	}
	k.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return nil, keyservice.Of(k.String(), ctx.Err())
	}
	if k.takes > 0 {
		time.Sleep(k.takes) // of a bubble
	}
	if fails != keyservice.Refused {
		return nil, &keyservice.FaultError{Kind: fails, Service: k.String()}
	}
	return derOf(k.key, hash[:], k.high), nil
}

// derOf signs as a service does, which knows of no low s and no recovery ID.
func derOf(key *ecdsa.PrivateKey, hash []byte, high bool) []byte {
	signature, _ := crypto.Sign(hash, key)
	r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:64])
	if high {
		s.Sub(crypto.S256().Params().N, s)
	}
	der, _ := asn1.Marshal(struct{ R, S *big.Int }{r, s})
	return der
}

func (k *keeper) change(do func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	do()
}

func numbered(nonce uint64) *types.Transaction {
	return types.NewTx(&types.DynamicFeeTx{ChainID: big.NewInt(1337), Nonce: nonce, Value: new(big.Int), Gas: 21_000, GasTipCap: new(big.Int), GasFeeCap: big.NewInt(2)})
}

// A signature is one that the chain takes, whichever s the service returns: the low s, and the recovery ID of the account.
func TestRemoteSigns(t *testing.T) {
	t.Parallel()
	seen := map[uint64]bool{}
	for _, high := range []bool{false, true} {
		k := newKeeper()
		k.high = high
		r := evm.NewRemote(k.account(), k)
		for nonce := range uint64(16) {
			signed, err := r.Sign(t.Context(), numbered(nonce))
			if err != nil {
				t.Fatal(err)
			}
			from, err := types.Sender(types.LatestSignerForChainID(big.NewInt(1337)), signed)
			if err != nil || chain.Account(from[:]) != k.account() || signed.Nonce() != nonce {
				t.Errorf("got sender %v, nonce %d, %v, want the account and its nonce", from, signed.Nonce(), err)
			}
			v, _, s := signed.RawSignatureValues()
			seen[v.Uint64()] = true
			if s.Cmp(new(big.Int).Rsh(crypto.S256().Params().N, 1)) > 0 {
				t.Errorf("s is %v, the high one", s)
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("seen the recovery IDs %v, want both", seen)
	}
	compressed := newKeeper()
	compressed.public = publicKey(crypto.CompressPubkey(&compressed.key.PublicKey))
	if err := evm.NewRemote(compressed.account(), compressed).Check(t.Context()); err != nil {
		t.Errorf("a compressed key: %v", err)
	}
}

// The key has to be of the right curve and of the account, when it is looked at and whenever it has signed.
func TestRemoteKnowsItsKey(t *testing.T) {
	t.Parallel()
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	der := func(public any) []byte {
		text, err := x509.MarshalPKIXPublicKey(public)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	another, _ := crypto.GenerateKey()
	for _, c := range []struct {
		what   string
		public []byte
		want   keyservice.Kind
		says   string
	}{
		{"of another account", publicKey(crypto.FromECDSAPub(&another.PublicKey)), keyservice.Foreign, "its address is 0x"},
		{"of another curve", der(&p256.PublicKey), keyservice.Unfit, "P-256"},
		{"of RSA", der(&key.PublicKey), keyservice.Unfit, "RSA"},
		{"no point", publicKey(make([]byte, 65)), keyservice.Refused, "no point"},
		{"no key", []byte("hello"), keyservice.Refused, "cannot be read"},
	} {
		k := newKeeper()
		k.public = c.public
		r := evm.NewRemote(k.account(), k)
		_, signs := r.Sign(t.Context(), numbered(1))
		for _, err := range []error{r.Check(t.Context()), signs} {
			if kind, is := keyservice.KindOf(err); !is || kind != c.want || !strings.Contains(err.Error(), c.says) || !errors.Is(err, chain.ErrKey) {
				t.Errorf("%s: got %v, want a fault of kind %d that says %q", c.what, err, c.want, c.says)
			}
		}
		if k.calls > 0 {
			t.Errorf("%s: it was asked to sign", c.what)
		}
	}
	k := newKeeper()
	r := evm.NewRemote(k.account(), k)
	if err := r.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.key = another // behind the same name
	_, err = r.Sign(t.Context(), numbered(1))
	if kind, is := keyservice.KindOf(err); !is || kind != keyservice.Foreign {
		t.Errorf("signed by another key: got %v, want that it is another's", err)
	}
}

// signMany signs by as many hands as Prepare has, and returns the errors and how long it took.
func signMany(t *testing.T, r *evm.Remote, n int) (errs []error, took time.Duration) {
	began := time.Now()
	errs = make([]error, n)
	var all sync.WaitGroup
	hands := make(chan struct{}, 32)
	for i := range n {
		hands <- struct{}{}
		all.Go(func() {
			defer func() { <-hands }()
			_, errs[i] = r.Sign(t.Context(), numbered(uint64(i)))
		})
	}
	all.Wait()
	return errs, time.Since(began)
}

func countKinds(errs []error) map[keyservice.Kind]int {
	count := map[keyservice.Kind]int{}
	for _, err := range errs {
		if kind, is := keyservice.KindOf(err); is {
			count[kind]++
		}
	}
	return count
}

// A service with a quota signs all that is asked of it, at its pace: no signature fails.
func TestAQuotaIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper()
		k.quota, k.takes = 300, 20*time.Millisecond
		errs, took := signMany(t, evm.NewRemote(k.account(), k), 900)
		for i, err := range errs {
			if err != nil {
				t.Fatalf("signature %d: %v", i, err)
			}
		}
		if took > 5*time.Second {
			t.Errorf("900 signatures at 300 a second took %v", took)
		}
	})
}

// However many transactions wait for a service that throttles, is silent or does not let one in, they wait for the time of one
// signature; it is asked a few times, and again after a pause.
func TestManyWaitForOne(t *testing.T) {
	t.Parallel()
	for kind, most := range map[keyservice.Kind]int{keyservice.Throttled: 32 * 10, keyservice.Away: 32, keyservice.Denied: 32, keyservice.Disabled: 32, keyservice.Missing: 32} {
		synctest.Test(t, func(t *testing.T) {
			k := newKeeper()
			k.fails, k.hangs, k.takes = kind, kind == keyservice.Away, 20*time.Millisecond
			r := evm.NewRemote(k.account(), k)
			errs, took := signMany(t, r, 500)
			if count := countKinds(errs); count[kind] != 500 || took > evm.SignPatience+evm.CallPatience || k.calls > most {
				t.Errorf("kind %d: got %v, %d calls in %v, want 500 of it, by %d calls at most, within the patience", kind, count, k.calls, took, most)
			}
			calls := k.calls
			errs, took = signMany(t, r, 500)
			if count := countKinds(errs); count[kind] != 500 || took > 0 || k.calls != calls {
				t.Errorf("kind %d: at once again: got %v, %d more calls in %v, want none", kind, count, k.calls-calls, took)
			}
			time.Sleep(time.Minute) // of the bubble
			errs, _ = signMany(t, r, 500)
			if count := countKinds(errs); count[kind] != 500 || k.calls > calls+1 {
				t.Errorf("kind %d: after a pause: got %v, %d more calls, want one that tries", kind, count, k.calls-calls)
			}
			k.change(func() { k.fails, k.hangs = keyservice.Refused, false })
			time.Sleep(time.Minute)
			if _, err := r.Sign(t.Context(), numbered(1)); err != nil {
				t.Errorf("kind %d: once all is well again: %v", kind, err)
			}
			if errs, _ = signMany(t, r, 500); len(countKinds(errs)) > 0 {
				t.Errorf("kind %d: once one has signed again: %v", kind, countKinds(errs))
			}
		})
	}
}

// The error of a caller that gives up is no news of the service.
func TestGivingUpSaysNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper()
		k.hangs = true
		r := evm.NewRemote(k.account(), k)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := r.Sign(ctx, numbered(1)); !errors.Is(err, chain.ErrKey) {
			t.Errorf("got %v, want an error of the key", err)
		}
		k.hangs = false
		if _, err := r.Sign(t.Context(), numbered(1)); err != nil {
			t.Errorf("got %v, want a signature at once", err)
		}
	})
}
