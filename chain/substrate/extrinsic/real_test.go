package extrinsic_test

import (
	"encoding/hex"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain/substrate/extrinsic"
	"github.com/conchhq/conch/chain/substrate/key"
	"github.com/conchhq/conch/chain/substrate/metadata"
	"github.com/conchhq/conch/internal/runtest"
)

// With the metadata of real runtimes conch signs, byte by byte, what polkadot-js 16.5 signs (@polkadot/types of npm): the remark
// "hello", period 64 at block 1000, nonce 7, tip 1000000, genesis 1111…, birth 2222…, version 1234.56.
func TestPolkadotJSSignsTheSame(t *testing.T) {
	t.Parallel()
	const (
		alith    = "0x5fb92d6e98884f76de468fa3f6278f8807c48bebc13595d45af5bdc4da702133"
		polkadot = "0xcd01840088dc3417d5058ec4b4503e0c12ea1a0a89be200fe98922423d4334014fa6b0ee00108c51df7c173ad9a0433feb9b687f52dcc634b6776832a238e51305dc12619898fb92ffcb77f492d79af8b9d1f0046415c314b99ee3710d4517d6c97d84900885021c02093d000000001468656c6c6f"
	)
	for _, is := range []struct {
		runtime string
		kind    key.Kind
		uri     string
		want    string
	}{
		{"v14-polkadot", key.Ed25519, "//Alice", polkadot},
		{"v14-storagehub-parachain", key.Ed25519, "//Alice", polkadot},
		{"v14-storagehub-solochain-evm", key.Ethereum, alith, "0x990184f24ff3a9cf04c71dbc94d0b566f7a27b94566cac9473b30bbcffeaadf6d23d1264f690420ca7ca2b205a21e6add6db2020894a406c3a04225dee40009aed7e5369249697a586c162da1f544bdfc476e932f935cf0185021c02093d000000001468656c6c6f"},
		{"v15-asset-hub-polkadot", key.Ed25519, "//Alice", "0xd101840088dc3417d5058ec4b4503e0c12ea1a0a89be200fe98922423d4334014fa6b0ee00b924775ef107516c39ae31a745a972aecbfdfc8e993f95e19fc07af3f7a3470abfc02279b9dd3392a5376d03787282c06ceaf07c7d17fadf9b17aae3ff96b00b85021c02093d00000000001468656c6c6f"},
		{"v15-substrate", key.ECDSA, "//Alice", "0xd501840001e552298e47454041ea31273b4b630c64c104e4514aa3643490b8aaca9cf8ed02d9bc6aab80514248a892c713528f351368ce680391e2217e122fc073facb8b8701a1537e48005c778717cae070d302a7fe9e5180fff4ba193c4ffda380c751a20085021c02093d00000000001468656c6c6f"},
	} {
		c := realCodec(t, is.runtime)
		by, err := key.FromURI(is.kind, is.uri)
		if err != nil {
			t.Fatal(err)
		}
		p := extrinsic.Payload{Nonce: 7, Tip: big.NewInt(1000000), SpecVersion: 1234, TransactionVersion: 56}
		p.Era, _ = extrinsic.BornAt(64, 1000)
		for i := range 32 {
			p.Genesis[i], p.Birth[i] = 0x11, 0x22
		}
		b, _ := hex.DecodeString(is.want[2:])
		e, err := c.Decode(b)
		if err != nil {
			t.Errorf("%s: %v", is.runtime, err)
			continue
		}
		if err := c.Verify(e, 1234, 56, p.Genesis, p.Birth); err != nil || e.Account != by.Account() || e.Nonce != 7 || e.Tip.Cmp(p.Tip) != 0 || e.Era != p.Era {
			t.Errorf("%s: %+v %v", is.runtime, e, err)
		}
		p.Call = e.Call
		signed, err := c.Sign(t.Context(), p, by)
		if err != nil {
			t.Errorf("%s: %v", is.runtime, err)
			continue
		}
		if is.kind == key.ECDSA { // polkadot-js chooses the random number of its signature in another way
			if again, err := c.Decode(signed); err != nil || c.Verify(again, 1234, 56, p.Genesis, p.Birth) != nil {
				t.Errorf("%s: %v", is.runtime, err)
			}
			signed = append(append(signed[:37:37], b[37:102]...), signed[102:]...)
		}
		if got := "0x" + hex.EncodeToString(signed); got != is.want {
			t.Errorf("%s: %s, not %s", is.runtime, got, is.want)
		}
	}
}

// All real runtimes have extensions that conch knows.
func TestRealRuntimesAreTaken(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(os.Getenv("CONCH_METADATA"), "v1[456]-*"))
	if len(files) == 0 || os.Getenv("CONCH_METADATA") == "" {
		runtest.Missing(t, "CONCH_METADATA does not name a folder with metadata: scripts/metadata.sh fetches it")
	}
	for _, file := range files {
		realCodec(t, filepath.Base(file))
	}
}

func realCodec(t *testing.T, name string) *extrinsic.Codec {
	t.Helper()
	dir := os.Getenv("CONCH_METADATA")
	if dir == "" {
		runtest.Missing(t, "CONCH_METADATA does not name a folder with metadata: scripts/metadata.sh fetches it")
	}
	digits, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(digits), "6d657461") // after an option and a length, if it has them
	b, err := hex.DecodeString("6d657461" + strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	rt, err := metadata.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	c, err := extrinsic.For(rt)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}
