package transactions

import (
	"context"
	"encoding/asn1"
	"fmt"
	"math/big"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/chain/keyservice"
	"github.com/conchhq/conch/chain/keyservice/keyservicetest"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/internal/pause"
)

// mute is a service that says why it does not show its key.
type mute struct{ kind keyservice.Kind }

func (mute) String() string { return "the service" }

func (m mute) PublicKey(context.Context) ([]byte, error) {
	return nil, &keyservice.FaultError{Kind: m.kind, Service: m.String()}
}

func (m mute) SignHash(ctx context.Context, _ [32]byte) ([]byte, error) { return m.PublicKey(ctx) }

// What only the author of the configuration can mend keeps a node from starting. What may pass is told, and the node starts.
func TestAServiceThatIsAwayMayComeBack(t *testing.T) {
	t.Parallel()
	for kind, starts := range map[keyservice.Kind]bool{
		keyservice.Foreign: false, keyservice.Unfit: false,
		keyservice.Away: true, keyservice.Throttled: true, keyservice.Denied: true, keyservice.Disabled: true, keyservice.Missing: true, keyservice.Refused: true,
	} {
		a := Account{Name: "payer", Address: "a", Signer: "vault:transit/payouts"}
		keys := newKeyring()
		keys.remotes[[2]string{a.Signer, string(a.Address)}] = evm.NewRemote(a.Address, mute{kind})
		told := 0
		err := keys.openAll(t.Context(), config.Config{}, []Account{a}, func(of Account, err error) {
			if got, _ := keyservice.KindOf(err); of != a || got != kind {
				t.Errorf("kind %d: told %v of %v", kind, err, of)
			}
			told++
		})
		if (err == nil) != starts || (told == 1) != starts {
			t.Errorf("kind %d: got %v, told %d times; want that the node starts: %v", kind, err, told, starts)
		}
	}
}

// BenchmarkSigners measures signatures, of a key in this process by as many hands as there are processors, and of services by 32.
// The stand-ins are in this process too, sign with the same library, and answer at once, or after a pause as of a network.
//
//	CGO_ENABLED=0 go test ./cmd/conch/internal/service/transactions -run '^$' -bench Signers -benchtime 2000x
func BenchmarkSigners(b *testing.B) {
	key, err := crypto.GenerateKey()
	if err != nil {
		b.Fatal(err)
	}
	by := types.LatestSignerForChainID(big.NewInt(1))
	b.Run("local", func(b *testing.B) {
		measure(b, runtime.GOMAXPROCS(0), func(tx *types.Transaction) error {
			_, err := types.SignTx(tx, by, key)
			return err
		})
	})
	for _, p := range []keyservicetest.Provider{keyservicetest.AWS, keyservicetest.Google, keyservicetest.Vault} {
		for _, wait := range []time.Duration{0, 20 * time.Millisecond} {
			b.Run(fmt.Sprintf("%s/%v", p, wait), func(b *testing.B) {
				s := keyservicetest.Start(b, p, keyservicetest.Key{Public: publicOf(crypto.FromECDSAPub(&key.PublicKey)), Sign: func(hash []byte) []byte {
					_ = pause.For(b.Context(), wait)
					signature, _ := crypto.Sign(hash, key)
					der, _ := asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:64])})
					return der
				}})
				setEnvironment(b, s)
				address := crypto.PubkeyToAddress(key.PublicKey)
				r, err := newKeyring().remote(Account{Address: chain.Account(address[:]), Signer: string(p) + ":" + s.Name})
				if err != nil {
					b.Fatal(err)
				}
				defer r.Close()
				measure(b, 32, func(tx *types.Transaction) error {
					_, err := r.Sign(b.Context(), tx)
					return err
				})
			})
		}
	}
}

func publicOf(point []byte) []byte {
	type algorithm struct{ ID, Curve asn1.ObjectIdentifier }
	der, _ := asn1.Marshal(struct {
		Algorithm algorithm
		Key       asn1.BitString
	}{algorithm{asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}, asn1.ObjectIdentifier{1, 3, 132, 0, 10}}, asn1.BitString{Bytes: point, BitLength: 8 * len(point)}})
	return der
}

func setEnvironment(b *testing.B, s *keyservicetest.StandIn) {
	b.Helper()
	for _, pair := range s.Environment(b) {
		name, value, _ := strings.Cut(pair, "=")
		b.Setenv(name, value)
	}
}

func measure(b *testing.B, hands int, sign func(*types.Transaction) error) {
	b.Helper()
	var all sync.WaitGroup
	next := make(chan uint64)
	for range hands {
		all.Go(func() {
			for nonce := range next {
				if err := sign(types.NewTx(&types.DynamicFeeTx{ChainID: big.NewInt(1), Nonce: nonce, Gas: 21_000, Value: new(big.Int), GasTipCap: new(big.Int), GasFeeCap: big.NewInt(2)})); err != nil {
					b.Error(err)
				}
			}
		})
	}
	b.ResetTimer()
	for i := range b.N {
		next <- uint64(i)
	}
	close(next)
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "signatures/s")
	b.ReportMetric(0, "ns/op")
}
