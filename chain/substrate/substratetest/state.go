package substratetest

import (
	"encoding/binary"
	"math/big"
	"slices"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/crypto/blake2b"

	"github.com/conchhq/conch/chain/substrate/internal/trie"
	"github.com/conchhq/conch/chain/substrate/scale"
)

// blockHashes is how many hashes of blocks a state has, and so the longest era that works.
const blockHashes = 256

// codeKey is where a state has its runtime.
const codeKey = ":code"

// state is the storage of the chain after a block, by key.
type state map[string][]byte

// root returns the state's root in the header.
func (s state) root() [32]byte {
	entries := make([]trie.Entry, 0, len(s))
	for key, value := range s {
		entries = append(entries, trie.Entry{Key: []byte(key), Value: value})
	}
	return trie.Root(trie.V1, entries)
}

func (s state) runtime() Runtime {
	r, _ := runtimeOf(s[codeKey])
	return r
}

func twox(size int, text string) []byte {
	var b []byte
	for seed := range uint64(size / 8) {
		d := xxhash.NewWithSeed(seed)
		_, _ = d.WriteString(text)
		b = binary.LittleEndian.AppendUint64(b, d.Sum64())
	}
	return b
}

// plainKey returns the key of an entry that has none of its own.
func plainKey(pallet, entry string) string {
	return string(append(twox(16, pallet), twox(16, entry)...))
}

var (
	eventsKey     = plainKey("System", "Events")
	eventCountKey = plainKey("System", "EventCount")
	numberKey     = plainKey("System", "Number")
	parentKey     = plainKey("System", "ParentHash")
	authorizedKey = plainKey("System", "AuthorizedUpgrade")
	nowKey        = plainKey("Timestamp", "Now")
	issuanceKey   = plainKey("Balances", "TotalIssuance")
	accountPrefix = plainKey("System", "Account")
	hashPrefix    = plainKey("System", "BlockHash")
)

func accountKey(account string) string {
	hash, _ := blake2b.New(16, nil)
	hash.Write([]byte(account))
	return accountPrefix + string(hash.Sum(nil)) + account
}

func blockHashKey(number uint32) string {
	return hashPrefix + string(twox(8, string(u32(number)))) + string(u32(number))
}

// account is what a state says of one. The zero account does not exist.
type account struct {
	nonce, consumers, providers uint32
	free                        *big.Int
}

func (s state) account(who string) account {
	b := s[accountKey(who)]
	if len(b) == 0 {
		return account{free: new(big.Int)}
	}
	d := scale.NewDecoder(b)
	a := account{nonce: d.U32(), consumers: d.U32(), providers: d.U32()}
	d.U32()
	a.free = d.U128()
	return a
}

func (a account) encode() []byte {
	return concat(u32(a.nonce), u32(a.consumers), u32(a.providers), u32(0), u128(a.free), make([]byte, 48))
}

func (s state) issuance() *big.Int {
	b := slices.Clone(s[issuanceKey])
	slices.Reverse(b)
	return new(big.Int).SetBytes(b)
}
