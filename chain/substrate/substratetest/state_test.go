package substratetest_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/crypto/blake2b"

	"github.com/conchhq/conch/chain/substrate/substratetest"
)

// twoxKey is the key of an entry of a pallet that has none of its own.
func twoxKey(pallet, entry string) []byte {
	var b []byte
	for _, text := range []string{pallet, entry} {
		for seed := range uint64(2) {
			d := xxhash.NewWithSeed(seed)
			_, _ = d.WriteString(text)
			b = binary.LittleEndian.AppendUint64(b, d.Sum64())
		}
	}
	return b
}

// TestStorage reads a state by its keys, as of one block (Z12).
func TestStorage(t *testing.T) {
	t.Parallel()
	alice := newKey(t, kindEd25519, 1)
	node := start(t, rich(alice))
	c := dial(t, node.URL())
	genesis := node.Genesis()
	hash, _ := blake2b.New(16, nil)
	hash.Write([]byte(alice.account))
	key := hexOf(append(hash.Sum(twoxKey("System", "Account")), alice.account...))
	if got := hexOf(twoxKey("System", "Account")); got != "0x26aa394eea5630e07c48ae0c9558cef7b99d880ec681799c0cf30e8886371da9" {
		t.Errorf("accounts are below %s", got) // as on every Substrate chain
	}
	rich := "0x00000000" + "00000000" + "01000000" + "00000000" + "0080c6a47e8d03000000000000000000" + strings.Repeat("0", 96)
	if got := c.text("state_getStorage", key); got != rich {
		t.Errorf("the account is %s, want %s", got, rich)
	}
	c.ask(nil, submit, hexOf(alice.extrinsic(node, draft{})))
	node.Mine()
	if now := c.text("state_getStorage", key); now[:10] != "0x01000000" || now == rich {
		t.Errorf("after a transaction the account is %s", now)
	}
	if old := c.text("state_getStorage", key, hexOf(genesis[:])); old != rich {
		t.Errorf("as of the first block the account is %s", old)
	}
	var size int
	if c.ask(&size, "state_getStorageSize", key); size != 80 {
		t.Errorf("an account has %d bytes", size)
	}
	var keys []string
	c.ask(&keys, "state_getKeysPaged", hexOf(twoxKey("System", "Account")), 10)
	if fmt.Sprint(keys) != "["+key+"]" {
		t.Errorf("the accounts are %v, want %s", keys, key)
	}
	if c.ask(&keys, "state_getKeysPaged", "0x", 2, key); len(keys) != 2 || keys[0] <= key || keys[1] <= keys[0] {
		t.Errorf("the keys after the account's are %v", keys)
	}
	var changes []struct {
		Block   string       `json:"block"`
		Changes [][2]*string `json:"changes"`
	}
	c.ask(&changes, "state_queryStorageAt", []string{key, "0x00"}, hexOf(genesis[:]))
	if len(changes) != 1 || changes[0].Block != hexOf(genesis[:]) || *changes[0].Changes[0][1] != rich || changes[0].Changes[1][1] != nil {
		t.Errorf("the changes are %+v", changes)
	}
	if got := c.text("state_call", "AccountNonceApi_account_nonce", hexOf([]byte(alice.account))); got != "0x01000000" {
		t.Errorf("the nonce is %s", got)
	}
}

// TestAddresses: an account is named by SS58 of any network, or by hex digits.
func TestAddresses(t *testing.T) {
	t.Parallel()
	who := string(raw(t, "0xd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d"))
	node := start(t, substratetest.Config{Accounts: map[string]*big.Int{who: big.NewInt(1e12)}})
	c := dial(t, node.URL())
	for _, address := range []string{
		"5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY", "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
		"HNZata7iMYWmk5RvZRTiAsSDhV8366zq2YGb3tLH5Upf74F", hexOf([]byte(who)),
	} {
		var next int
		c.ask(&next, "system_accountNextIndex", address)
	}
	for _, wrong := range []string{"", "1", "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQX", "5Grwva0F5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY", "0x00", strings.Repeat("5", 999)} {
		c.refuses(-32602, "", "system_accountNextIndex", wrong)
	}
}

// TestManyAtOnce scripts a node while clients send to it: it is for the race detector.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	keys := []key{newKey(t, kindEd25519, 1), newKey(t, kindEd25519, 2), newKey(t, kindEd25519, 3)}
	cfg := rich(keys...)
	cfg.Finality = 3
	node := start(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	var scripts, clients sync.WaitGroup
	scripts.Go(func() { node.Run(ctx, time.Millisecond) })
	scripts.Go(func() {
		for ctx.Err() == nil {
			if node.Head().Number > node.Final().Number+1 {
				_ = node.Reorg(1, nil)
			}
			node.Fund(keys[0].account, big.NewInt(1e12))
			node.Pass(time.Hour)
			node.Front().Lag(int(node.Head().Number % 2))
		}
	})
	const count = 20
	for _, k := range keys {
		c := dial(t, node.URL())
		clients.Go(func() {
			var id string
			c.ask(&id, "chain_subscribeNewHeads")
			for nonce := range uint64(count) {
				if _, err := c.try(watch, hexOf(k.extrinsic(node, draft{nonce: nonce}))); err != nil {
					t.Error(err)
				}
			}
			for {
				if _, err := c.try("chain_getBlock"); err != nil {
					t.Error(err)
					return
				}
				if nonce, _ := node.Nonce(k.account); nonce == count || t.Context().Err() != nil {
					return
				}
				c.next(id)
			}
		})
	}
	clients.Wait()
	cancel()
	scripts.Wait()
	seen := map[[32]byte]int{}
	for _, b := range node.Blocks() {
		for _, x := range b.Bodies[min(1, len(b.Bodies)):] {
			seen[substratetest.Hash(x)]++
		}
	}
	for hash, times := range seen {
		if times != 1 {
			t.Errorf("%x is in the chain %d times", hash, times)
		}
	}
	if len(seen) != count*len(keys) {
		t.Errorf("the chain has %d transactions, want %d", len(seen), count*len(keys))
	}
}
