package evm

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/secretfile"
)

// Keystore is a Signer with a key from an encrypted file. Its prints and JSON show the account.
type Keystore struct {
	account chain.Account
	key     func() *ecdsa.PrivateKey // a function, so that no print shows the key
}

var _ Signer = (*Keystore)(nil)

// OpenKeystore decrypts a file of web3 secret storage, version 3. The password is the first
// line of another file. It takes about a second for a key of StandardCost.
func OpenKeystore(file, passwordFile string) (*Keystore, error) {
	sealed, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: the keystore cannot be read: %w: name a file of web3 secret storage that this user may read", chain.ErrKey, err)
	}
	password, err := readPassword(passwordFile)
	if err != nil {
		return nil, err
	}
	key, err := keystore.DecryptKey(sealed, password)
	if errors.Is(err, keystore.ErrDecrypt) {
		return nil, fmt.Errorf("%w: the password in %s does not open %s: correct one of them", chain.ErrKey, passwordFile, file)
	}
	if err != nil {
		// The text of err may quote the file, so it is left out.
		return nil, fmt.Errorf("%w: %s is not a keystore: it has to be web3 secret storage, version 3, as geth, clef or cast write it", chain.ErrKey, file)
	}
	return newKeystore(key.PrivateKey), nil
}

func newKeystore(key *ecdsa.PrivateKey) *Keystore {
	a := crypto.PubkeyToAddress(key.PublicKey)
	return &Keystore{account: chain.Account(a[:]), key: func() *ecdsa.PrivateKey { return key }}
}

// Cost is the work of one guess at the password of a keystore.
type Cost int

// The costs of a key that guards something, and of one that guards nothing.
const (
	StandardCost Cost = keystore.StandardScryptN // as geth and its relatives write it: a second and 256 MB
	NoCost       Cost = 2                        // the least that there is, for the worthless keys of tests and of a demo
)

// WriteKeystore encrypts a private key, in hexadecimal digits, into a new file of mode 0600.
func WriteKeystore(file, privateKey, password string, cost Cost) (chain.Account, error) {
	raw, err := hex.DecodeString(strings.TrimPrefix(strings.TrimSpace(privateKey), "0x"))
	if err != nil {
		return "", fmt.Errorf("%w: a private key is 64 hexadecimal digits", chain.ErrKey) // err may quote the key
	}
	secret, err := crypto.ToECDSA(raw)
	if err != nil {
		return "", fmt.Errorf("%w: a private key is 64 hexadecimal digits", chain.ErrKey)
	}
	if password == "" {
		return "", fmt.Errorf("%w: an empty password protects nothing", chain.ErrKey)
	}
	address := crypto.PubkeyToAddress(secret.PublicKey)
	key := &keystore.Key{Address: address, PrivateKey: secret}
	if _, err := rand.Read(key.Id[:]); err != nil {
		return "", fmt.Errorf("%w: no randomness: %w", chain.ErrKey, err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // first, since encrypting takes a second
	if err != nil {
		return "", fmt.Errorf("%w: the keystore cannot be written: %w: name a new file in a folder that this user may write", chain.ErrKey, err)
	}
	sealed, err := keystore.EncryptKey(key, password, int(cost), keystore.StandardScryptP)
	if err == nil {
		_, err = f.Write(sealed)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(fmt.Errorf("%w: the keystore cannot be written", chain.ErrKey), err, os.Remove(file))
	}
	return chain.Account(address[:]), nil
}

func readPassword(file string) (string, error) {
	line, err := secretfile.Line(file)
	if err != nil {
		return "", fmt.Errorf("%w: the keystore's password cannot be read: %w: name a file that holds it on one line", chain.ErrKey, err)
	}
	return line, nil
}

// Account implements Signer.
func (k *Keystore) Account() chain.Account { return k.account }

// Sign implements Signer.
func (k *Keystore) Sign(_ context.Context, tx *types.Transaction) (*types.Transaction, error) {
	signed, err := types.SignTx(tx, types.LatestSignerForChainID(tx.ChainId()), k.key())
	if err != nil {
		return nil, fmt.Errorf("%w %v: %w", chain.ErrKey, k.account, err)
	}
	return signed, nil
}

// SignHash returns a signature of a hash, as wallets write it: r, s, and 27 or 28, 65 bytes. The same hash has the same
// signature (RFC 6979). The caller answers for what the hash is of: one of a transaction spends the account's money.
func (k *Keystore) SignHash(hash [32]byte) ([]byte, error) {
	signature, err := crypto.Sign(hash[:], k.key())
	if err != nil {
		return nil, fmt.Errorf("%w %v: %w", chain.ErrKey, k.account, err)
	}
	signature[crypto.RecoveryIDOffset] += 27
	return signature, nil
}

// String names the account.
func (k *Keystore) String() string { return "keystore of " + k.account.String() }

// Format writes String, for every verb.
func (k *Keystore) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// MarshalText returns String.
func (k *Keystore) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
