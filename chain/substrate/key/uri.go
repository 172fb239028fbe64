package key

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/oasisprotocol/curve25519-voi/curve/scalar"
	"github.com/oasisprotocol/curve25519-voi/primitives/merlin"
	"github.com/oasisprotocol/curve25519-voi/primitives/sr25519"
	"github.com/tyler-smith/go-bip39/wordlists"
	"golang.org/x/crypto/blake2b"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/scale"
	"github.com/conchhq/conch/internal/pattern"
)

// devPhrase is what a URI without a phrase stands for. Everybody knows it.
const devPhrase = "bottom drive obey lake curtain smoke basket hold race lonely fit walk"

var uriForm = pattern.Of(`^([0-9A-Za-z ]*)((?://?[^/]+)*?)(?:///(.*))?$`)

// FromURI makes a key of a secret URI, as nodes and subkey take it: a phrase of BIP-39, or 0x and 64 hexadecimal digits; then
// junctions, //hard or /soft; then ///password. Without a phrase it is one of the well-known keys for development, such as //Alice.
// The error wraps chain.ErrKey, and has nothing of the URI in it.
func FromURI(kind Kind, uri string) (*Pair, error) {
	parts := uriForm().FindStringSubmatch(uri)
	if parts == nil {
		return nil, fault("it has to be a phrase or 0x and hexadecimal digits, then //hard and /soft junctions, then ///password")
	}
	seed, err := seedOf(strings.TrimSpace(parts[1]), parts[3])
	if err != nil {
		return nil, err
	}
	junctions := junctionsOf(parts[2])
	if kind == Sr25519 {
		return fromMini(seed, junctions)
	}
	for _, j := range junctions {
		if j.soft {
			return nil, fault("a key of " + kind.String() + " has no /soft junctions, and no paths of BIP-32: write // or the private key itself")
		}
		seed = j.harden(kind, seed)
	}
	if kind == Ed25519 {
		return newEd25519(seed), nil
	}
	return newSecp(kind, seed)
}

func fault(what string) error {
	return fmt.Errorf("%w: the secret URI cannot be used: %s", chain.ErrKey, what)
}

// seedOf returns the seed of a phrase, or of digits.
func seedOf(phrase, password string) ([]byte, error) {
	if digits, prefixed := strings.CutPrefix(phrase, "0x"); prefixed {
		seed, err := hex.DecodeString(digits)
		if err != nil || len(seed) != 32 {
			return nil, fault("after 0x it has to have 64 hexadecimal digits")
		}
		return seed, nil
	}
	if phrase == "" {
		phrase = devPhrase
	}
	entropy, err := entropyOf(strings.Fields(phrase))
	if err != nil {
		return nil, err
	}
	seed, err := pbkdf2.Key(sha512.New, string(entropy), []byte("mnemonic"+password), 2048, 64)
	if err != nil {
		return nil, fault("the phrase has no seed")
	}
	return seed[:32], nil
}

// entropyOf reads the words of BIP-39: eleven bits each, of which the last are a checksum.
func entropyOf(words []string) ([]byte, error) {
	if len(words) < 12 || len(words) > 24 || len(words)%3 != 0 {
		return nil, fault("its phrase has to have 12, 15, 18, 21 or 24 words")
	}
	v := new(big.Int)
	for i, word := range words {
		at, found := slices.BinarySearch(wordlists.English, word)
		if !found {
			return nil, fault("word " + strconv.Itoa(i+1) + " of its phrase is not in the list of BIP-39")
		}
		v.Lsh(v, 11).Or(v, big.NewInt(int64(at)))
	}
	checked := len(words) / 3
	sum := new(big.Int).And(v, big.NewInt(1<<checked-1)).Uint64()
	entropy := v.Rsh(v, uint(checked)).FillBytes(make([]byte, 4*checked))
	if hash := sha256.Sum256(entropy); uint64(hash[0]>>(8-checked)) != sum {
		return nil, fault("the checksum of its phrase is wrong, so a word is, or their order")
	}
	return entropy, nil
}

// junction derives a key from another one.
type junction struct {
	soft bool
	code [32]byte
}

func junctionsOf(path string) (all []junction) {
	for path != "" {
		var j junction
		path = path[1:]
		if j.soft = path[0] != '/'; !j.soft {
			path = path[1:]
		}
		end := strings.IndexByte(path+"/", '/')
		name := path[:end]
		path = path[end:]
		code := scale.AppendText(nil, name)
		if n, err := strconv.ParseUint(name, 10, 64); err == nil {
			code = binary.LittleEndian.AppendUint64(nil, n)
		}
		if len(code) > 32 {
			j.code = blake2b.Sum256(code)
		}
		if len(code) <= 32 {
			copy(j.code[:], code)
		}
		all = append(all, j)
	}
	return all
}

// harden derives a seed of a kind other than Sr25519.
func (j junction) harden(kind Kind, seed []byte) []byte {
	name := "Secp256k1HDKD"
	if kind == Ed25519 {
		name = "Ed25519HDKD"
	}
	sum := blake2b.Sum256(slices.Concat(scale.AppendText(nil, name), seed, j.code[:]))
	return sum[:]
}

// fromMini derives keys of sr25519, which has both kinds of junctions.
func fromMini(seed []byte, junctions []junction) (*Pair, error) {
	mini, err := sr25519.NewMiniSecretKeyFromBytes(seed)
	if err != nil {
		return nil, fault("its seed has to have 32 bytes")
	}
	secret := mini.ExpandEd25519()
	for _, j := range junctions {
		if secret, err = j.derive(secret); err != nil {
			return nil, fault("a junction leads nowhere")
		}
	}
	return newSr25519(secret), nil
}

func (j junction) derive(from *sr25519.SecretKey) (*sr25519.SecretKey, error) {
	b, err := from.MarshalBinary()
	if err != nil {
		return nil, err
	}
	t := merlin.NewTranscript("SchnorrRistrettoHDKD")
	t.AppendMessage("sign-bytes", nil)
	t.AppendMessage("chain-code", j.code[:])
	if !j.soft {
		t.AppendMessage("secret-key", b[:32])
		var seed [32]byte
		t.ExtractBytes(seed[:], "HDKD-hard")
		mini, err := sr25519.NewMiniSecretKeyFromBytes(seed[:])
		if err != nil {
			return nil, err
		}
		return mini.ExpandEd25519(), nil
	}
	public, err := from.PublicKey().MarshalBinary()
	if err != nil {
		return nil, err
	}
	t.AppendMessage("public-key", public)
	var wide [64]byte
	t.ExtractBytes(wide[:], "HDKD-scalar")
	step, err := scalar.NewFromBytesModOrderWide(wide[:])
	if err != nil {
		return nil, err
	}
	old, err := scalar.NewFromCanonicalBytes(b[:32])
	if err != nil {
		return nil, err
	}
	sum := scalar.New()
	sum.Add(old, step)
	next, err := sum.MarshalBinary()
	if err != nil {
		return nil, err
	}
	// What makes signatures random is no part of the key: it only has to be as secret.
	nonce := blake2b.Sum256(slices.Concat([]byte("conch soft nonce"), b, j.code[:]))
	return sr25519.NewSecretKeyFromBytes(append(next, nonce[:]...))
}
