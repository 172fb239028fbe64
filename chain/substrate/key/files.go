package key

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/oasisprotocol/curve25519-voi/primitives/sr25519"
	"golang.org/x/crypto/nacl/secretbox"
	"golang.org/x/crypto/scrypt"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/secretfile"
)

// OpenNodeKeystore opens the keys of a type in a node's keystore folder, such as "bcsv": files whose names are the type
// and the public key in hexadecimal digits, and which have a secret URI as a JSON text. What each of them signs with, the folder
// does not say. All instances of a service share such a folder's keys. The error wraps chain.ErrKey, and names a file without what
// is in it.
func OpenNodeKeystore(folder, keyType string, kind Kind) ([]*Pair, error) {
	if len(keyType) != 4 {
		return nil, fmt.Errorf("%w: %q is no key type, which has 4 characters", chain.ErrKey, keyType)
	}
	prefix := hex.EncodeToString([]byte(keyType))
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("%w: the keystore cannot be read: %w", chain.ErrKey, err)
	}
	var all []*Pair
	for _, e := range entries {
		digits, is := strings.CutPrefix(e.Name(), prefix)
		if !is || e.IsDir() {
			continue
		}
		file := filepath.Join(folder, e.Name())
		p, err := openNodeKey(file, kind)
		if err != nil {
			return nil, err
		}
		if hex.EncodeToString(p.public) != strings.ToLower(digits) {
			return nil, fmt.Errorf("%w: %s has another public key than its name if it is of kind %v: name its kind", chain.ErrKey, file, kind)
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: %s has no key of the type %q: its name would begin with %s", chain.ErrKey, folder, keyType, prefix)
	}
	return all, nil
}

func openNodeKey(file string, kind Kind) (*Pair, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: the key cannot be read: %w", chain.ErrKey, err)
	}
	var uri string
	if err := json.Unmarshal(text, &uri); err != nil {
		return nil, fmt.Errorf("%w: %s is not a secret URI as a JSON text", chain.ErrKey, file) // err may quote it
	}
	p, err := FromURI(kind, uri)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// exported is a file of polkadot-js, version 3.
type exported struct {
	Encoded  string `json:"encoded"`
	Encoding struct {
		Content []string `json:"content"`
		Type    []string `json:"type"`
		Version string   `json:"version"`
	} `json:"encoding"`
}

// OpenJSON decrypts a file that polkadot-js and the wallets that use it have written, version 3. The password is the first line of
// another file. It takes some tenths of a second. The error wraps chain.ErrKey.
func OpenJSON(file, passwordFile string) (*Pair, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: the key cannot be read: %w", chain.ErrKey, err)
	}
	password, err := secretfile.Line(passwordFile)
	if err != nil {
		return nil, fmt.Errorf("%w: the key's password cannot be read: %w", chain.ErrKey, err)
	}
	p, err := openJSON(text, password)
	if errors.Is(err, errPassword) {
		return nil, fmt.Errorf("%w: the password in %s does not open %s: correct one of them", chain.ErrKey, passwordFile, file)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", chain.ErrKey, file, err)
	}
	return p, nil
}

var (
	errPassword = errors.New("it has another password")
	errExport   = errors.New("it is not a key that polkadot-js has exported, version 3")
)

func openJSON(text []byte, password string) (*Pair, error) {
	var e exported
	if json.Unmarshal(text, &e) != nil || e.Encoding.Version != "3" || len(e.Encoding.Content) != 2 || e.Encoding.Content[0] != "pkcs8" {
		return nil, errExport
	}
	kind, err := ParseKind(e.Encoding.Content[1])
	if err != nil {
		return nil, errExport
	}
	sealed, err := base64.StdEncoding.DecodeString(e.Encoded)
	if err != nil {
		return nil, errExport
	}
	if strings.Join(e.Encoding.Type, " ") != "scrypt xsalsa20-poly1305" {
		return nil, fmt.Errorf("it is not encrypted by scrypt and xsalsa20-poly1305: export it with a password")
	}
	plain, err := unseal(sealed, password)
	if err != nil {
		return nil, err
	}
	return fromPKCS8(kind, plain)
}

// unseal decrypts: a salt of 32 bytes, three numbers of scrypt, a nonce of 24 bytes, and a box.
func unseal(sealed []byte, password string) ([]byte, error) {
	if len(sealed) < 32+12+24+secretbox.Overhead {
		return nil, errExport
	}
	n, p, r := binary.LittleEndian.Uint32(sealed[32:]), binary.LittleEndian.Uint32(sealed[36:]), binary.LittleEndian.Uint32(sealed[40:])
	if n > 1<<17 || r > 8 || p > 10 { // the dearest that polkadot-js writes: 128 MB
		return nil, fmt.Errorf("its scrypt would cost more than polkadot-js ever asks for")
	}
	stretched, err := scrypt.Key([]byte(password), sealed[:32], int(n), int(r), int(p), 64)
	if err != nil {
		return nil, errExport
	}
	plain, ok := secretbox.Open(nil, sealed[68:], (*[24]byte)(sealed[44:68]), (*[32]byte)(stretched[:32]))
	if !ok {
		return nil, errPassword
	}
	return plain, nil
}

var (
	pkcs8Head    = []byte{48, 83, 2, 1, 1, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32}
	pkcs8Divider = []byte{161, 35, 3, 33, 0}
)

// fromPKCS8 reads what polkadot-js calls by this name: a head, the secret, a divider, the public key.
func fromPKCS8(kind Kind, plain []byte) (*Pair, error) {
	rest, is := bytes.CutPrefix(plain, pkcs8Head)
	if !is {
		return nil, errExport
	}
	size := 64
	if kind == ECDSA || kind == Ethereum {
		size = 32
	}
	if len(rest) < size+len(pkcs8Divider) || !bytes.Equal(rest[size:size+len(pkcs8Divider)], pkcs8Divider) {
		return nil, errExport
	}
	secret, public := rest[:size], rest[size+len(pkcs8Divider):]
	p, err := fromSecret(kind, secret)
	if err != nil {
		return nil, errExport
	}
	if !bytes.Equal(p.public, public) {
		return nil, fmt.Errorf("its public key is of another secret")
	}
	return p, nil
}

func fromSecret(kind Kind, secret []byte) (*Pair, error) {
	switch kind {
	case Ed25519:
		return newEd25519(secret[:32]), nil
	case Sr25519:
		// It has the scalar as ed25519 writes it, which is eight times as large.
		var small [64]byte
		copy(small[32:], secret[32:])
		for i := range 32 {
			small[i] = secret[i] >> 3
			if i < 31 {
				small[i] |= secret[i+1] << 5
			}
		}
		key, err := sr25519.NewSecretKeyFromBytes(small[:])
		if err != nil {
			return nil, errExport
		}
		return newSr25519(key), nil
	case ECDSA, Ethereum:
	}
	return newSecp(kind, secret)
}
