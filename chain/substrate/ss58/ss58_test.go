package ss58_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain/substrate/ss58"
)

// The addresses of a well-known account, as the Polkadot wiki and subkey print them.
func TestKnownAddresses(t *testing.T) {
	t.Parallel()
	alice, _ := hex.DecodeString("d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d")
	for network, want := range map[uint16]string{
		42: "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY",
		0:  "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5",
		2:  "HNZata7iMYWmk5RvZRTiAsSDhV8366zq2YGb3tLH5Upf74F",
	} {
		if got := ss58.Encode(alice, network); got != want {
			t.Errorf("network %d: %s, not %s", network, got, want)
		}
		account, of, err := ss58.Decode(want)
		if err != nil || string(account) != string(alice) || of != network {
			t.Errorf("%s: %x of %d, %v", want, account, of, err)
		}
	}
}

func TestEachNetworkComesBack(t *testing.T) {
	t.Parallel()
	account := make([]byte, 32)
	for network := range uint16(1 << 14) {
		account[network%32]++
		got, of, err := ss58.Decode(ss58.Encode(account, network))
		if err != nil || string(got) != string(account) || of != network {
			t.Fatalf("network %d: %x of %d, %v", network, got, of, err)
		}
	}
}

func TestWrongAddressesAreRefused(t *testing.T) {
	t.Parallel()
	const good = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"
	for i := range good {
		for _, c := range "1zA0" {
			if bad := good[:i] + string(c) + good[i+1:]; bad != good {
				if _, _, err := ss58.Decode(bad); !errors.Is(err, ss58.ErrAddress) {
					t.Fatalf("%s: %v", bad, err)
				}
			}
		}
	}
	for _, bad := range []string{"", "1", good + "1", "1" + good, strings.Repeat("1", 1000), "0x00", good[:47]} {
		if _, _, err := ss58.Decode(bad); !errors.Is(err, ss58.ErrAddress) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := ss58.DecodeFor("15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5", 2); !errors.Is(err, ss58.ErrNetwork) {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY")
	f.Fuzz(func(t *testing.T, text string) {
		account, network, err := ss58.Decode(text)
		if err == nil && ss58.Encode(account, network) != text {
			t.Fatalf("%q and %q are one account", text, ss58.Encode(account, network))
		}
	})
}
