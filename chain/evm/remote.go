package evm

import (
	"bytes"
	"context"
	"encoding/asn1"
	"fmt"
	"math/big"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/keyservice"
)

// KeyService keeps a key of secp256k1 and signs hashes with it. Its methods are safe for concurrent use. Errors are
// *keyservice.FaultError. Packages below chain/keyservice have some.
type KeyService interface {
	fmt.Stringer // names the service and the key, without a secret
	// PublicKey returns the key in DER, as SubjectPublicKeyInfo of X.509.
	PublicKey(ctx context.Context) ([]byte, error)
	// SignHash returns a signature in DER: r and s, of which s may be the high one.
	SignHash(ctx context.Context, hash [32]byte) ([]byte, error)
}

// Remote is a Signer whose key a service keeps. It computes the hash of each transaction and makes the signature of the answer, so
// that it trusts the service with the key and nothing else: an answer by another key is refused.
//
// As many signatures as Prepare asks for are made side by side. A service that throttles is asked again after pauses, one that
// does not answer too; see [keyservice.FaultError]. Signing then fails with chain.ErrKey, after some seconds at most.
type Remote struct {
	account chain.Account
	service KeyService
	known   atomic.Bool // the public key has been compared
	lull    *lull
}

var _ Signer = (*Remote)(nil)

// NewRemote makes a signer for an account. It asks the service nothing.
func NewRemote(account chain.Account, service KeyService) *Remote {
	return &Remote{account: account, service: service, lull: &lull{patience: signPatience}}
}

// Account implements Signer.
func (r *Remote) Account() chain.Account { return r.account }

// Close closes the connections that are not in use.
func (r *Remote) Close() {
	if closer, is := r.service.(interface{ Close() }); is {
		closer.Close()
	}
}

// Check asks for the public key, and returns an error unless it is that of the account. It signs nothing.
func (r *Remote) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	der, err := r.service.PublicKey(ctx)
	if err != nil {
		return r.named(err)
	}
	if err := r.compare(der); err != nil {
		return err
	}
	r.known.Store(true)
	return nil
}

// Sign implements Signer.
func (r *Remote) Sign(ctx context.Context, tx *types.Transaction) (*types.Transaction, error) {
	by := types.LatestSignerForChainID(tx.ChainId())
	hash := by.Hash(tx)
	var signature []byte
	err := r.lull.ask(ctx, func(ctx context.Context) (err error) {
		if !r.known.Load() {
			if err := r.Check(ctx); err != nil {
				return err
			}
		}
		ctx, cancel := context.WithTimeout(ctx, callPatience)
		defer cancel()
		der, err := r.service.SignHash(ctx, hash)
		if err != nil {
			return r.named(err)
		}
		signature, err = r.complete(hash[:], der)
		return err
	})
	if err != nil {
		return nil, err
	}
	return tx.WithSignature(by, signature)
}

var (
	order     = crypto.S256().Params().N
	halfOrder = new(big.Int).Rsh(order, 1)

	oidKey   = asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}
	oidCurve = asn1.ObjectIdentifier{1, 3, 132, 0, 10}
)

// curves are those that somebody may take by mistake.
var curves = map[string]string{
	"1.2.840.10045.3.1.7": "its curve is P-256", "1.3.132.0.34": "its curve is P-384", "1.3.132.0.35": "its curve is P-521",
	"1.2.840.113549.1.1.1": "it is one of RSA", "1.3.101.112": "it is one of Ed25519",
}

// compare returns an error unless a public key is that of the account.
func (r *Remote) compare(der []byte) error {
	var info struct {
		Algorithm struct {
			ID         asn1.ObjectIdentifier
			Parameters asn1.RawValue `asn1:"optional"`
		}
		Key asn1.BitString
	}
	if rest, err := asn1.Unmarshal(der, &info); err != nil || len(rest) > 0 {
		return r.fault(keyservice.Refused, "its public key cannot be read")
	}
	var curve asn1.ObjectIdentifier
	_, _ = asn1.Unmarshal(info.Algorithm.Parameters.FullBytes, &curve) // a key of RSA has none
	if !info.Algorithm.ID.Equal(oidKey) || !curve.Equal(oidCurve) {
		is := curves[curve.String()]
		if is == "" {
			is = curves[info.Algorithm.ID.String()]
		}
		return r.fault(keyservice.Unfit, is)
	}
	key, err := crypto.UnmarshalPubkey(info.Key.Bytes)
	if err != nil {
		key, err = crypto.DecompressPubkey(info.Key.Bytes)
	}
	if err != nil {
		return r.fault(keyservice.Refused, "its public key is no point of the curve")
	}
	if a := crypto.PubkeyToAddress(*key); chain.Account(a[:]) != r.account {
		return r.fault(keyservice.Foreign, fmt.Sprintf("its address is %v, the account's %v", chain.Account(a[:]), r.account))
	}
	return nil
}

// complete makes a signature of 65 bytes of one in DER: s is the low one, since the chain takes no other (EIP-2), and the recovery
// ID is that by which the account signed.
func (r *Remote) complete(hash, der []byte) ([]byte, error) {
	var pair struct{ R, S *big.Int }
	rest, err := asn1.Unmarshal(der, &pair)
	if err != nil || len(rest) > 0 || !inOrder(pair.R) || !inOrder(pair.S) {
		return nil, r.fault(keyservice.Refused, "its signature cannot be read")
	}
	if pair.S.Cmp(halfOrder) > 0 {
		pair.S.Sub(order, pair.S)
	}
	signature := make([]byte, crypto.SignatureLength)
	pair.R.FillBytes(signature[:32])
	pair.S.FillBytes(signature[32:64])
	for id := range byte(2) {
		signature[crypto.RecoveryIDOffset] = id
		key, err := crypto.Ecrecover(hash, signature)
		if err == nil && bytes.Equal(crypto.Keccak256(key[1:])[12:], []byte(r.account)) {
			return signature, nil
		}
	}
	return nil, r.fault(keyservice.Foreign, "it has signed by another key")
}

func inOrder(n *big.Int) bool { return n.Sign() > 0 && n.Cmp(order) < 0 }

func (r *Remote) fault(kind keyservice.Kind, detail string) error {
	return &keyservice.FaultError{Kind: kind, Service: r.service.String(), Detail: detail}
}

// named makes a fault of an error that is none.
func (r *Remote) named(err error) error {
	if _, is := keyservice.KindOf(err); is {
		return err
	}
	return &keyservice.FaultError{Kind: keyservice.Refused, Service: r.service.String(), Detail: err.Error(), Cause: err}
}

// String names the account and the service.
func (r *Remote) String() string {
	return "signer of " + r.account.String() + " by " + r.service.String()
}

// Format writes String, for every verb.
func (r *Remote) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(r.String())) }

// MarshalText returns String.
func (r *Remote) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
