package substratetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain/substrate/metadata"
	"github.com/conchhq/conch/chain/substrate/scale"
	"github.com/conchhq/conch/chain/substrate/substratetest"
)

// runtimes asks a node for the metadata of each version that it has.
func runtimes(t *testing.T, c *client) (all []*metadata.Runtime) {
	t.Helper()
	call := func(name, input string) *scale.Decoder {
		return scale.NewDecoder(raw(t, c.text("state_call", name, input)))
	}
	versions := call("Metadata_metadata_versions", "0x")
	for range versions.Length(4) {
		v := versions.U32()
		d := call("Metadata_metadata_at_version", fmt.Sprintf("0x%02x000000", v))
		if !d.Option() {
			t.Fatalf("version %d is named, and is not there", v)
		}
		rt, err := metadata.Decode(d.Blob())
		ok(t, err)
		if rt.Version() != int(v) {
			t.Errorf("version %d says that it is %d", v, rt.Version())
		}
		all = append(all, rt)
	}
	if d := call("Metadata_metadata_at_version", "0x63000000"); d.Option() || d.Done() != nil {
		t.Error("there is a version 99")
	}
	if legacy := call("Metadata_metadata", "0x"); hexOf(legacy.Blob()) != c.text("state_getMetadata") {
		t.Error("state_getMetadata says something else than the runtime")
	}
	return all
}

// TestMetadata: all versions of it say the same of the runtime, and what it says is so: calls that are encoded by it are carried
// out, and events are decoded by it (S18, S25).
func TestMetadata(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		kind    byte
		runtime substratetest.Runtime
		want    [2]byte // the index of Utility.force_batch
	}{
		"plain":    {kindSr25519, substratetest.Runtime{}, [2]byte{6, 4}},
		"ethereum": {kindEthereum, substratetest.Runtime{}, [2]byte{6, 4}},
		"moved":    {kindEd25519, substratetest.Runtime{Moved: true, Reshaped: true}, [2]byte{16, 4}},
		"strange":  {kindEd25519, substratetest.Runtime{Extension: "CheckCreatedAtHeight"}, [2]byte{6, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alice, bob := newKey(t, one.kind, 1), newKey(t, one.kind, 2)
			cfg := rich(alice)
			cfg.Runtime = one.runtime
			node := start(t, cfg)
			c := dial(t, node.URL())
			for nonce, rt := range runtimes(t, c) {
				batch, err := rt.Call("Utility", "force_batch")
				ok(t, err)
				if batch.Index != one.want {
					t.Errorf("force_batch is %v, want %v", batch.Index, one.want)
				}
				send(t, node, c, alice, bob, rt, uint64(nonce), one.runtime.Extension != "")
				want := "CheckMetadataHash"
				if one.runtime.Extension != "" {
					want = one.runtime.Extension
				}
				if all := rt.Extensions(); all[len(all)-1].Name != want {
					t.Errorf("the extensions are %v", all)
				}
			}
		})
	}
}

// send carries out a call that the metadata encodes, and reads the events and an account by it.
func send(t *testing.T, node *substratetest.Node, c *client, from, to key, rt *metadata.Runtime, nonce uint64, strange bool) {
	t.Helper()
	batch, err := rt.Call("Utility", "force_batch")
	ok(t, err)
	dest := fmt.Sprintf(`{"Id":%q}`, hexOf([]byte(to.account)))
	if from.kind == kindEthereum {
		dest = fmt.Sprintf("%q", hexOf([]byte(to.account)))
	}
	text := fmt.Sprintf(`{"calls":[{"Balances":{"transfer_keep_alive":{"dest":%s,"value":3000000000}}},{"System":{"apply_authorized_upgrade":{"code":"0x00"}}}]}`, dest)
	arguments, err := metadata.ParseJSON([]byte(text))
	ok(t, err)
	encoded, err := rt.EncodeArguments(batch, arguments)
	ok(t, err)
	call := append(batch.Index[:], encoded...)
	c.ask(nil, submit, hexOf(from.extrinsic(node, draft{nonce: nonce, call: call, strange: strange})))
	node.Mine()
	events, err := rt.Events(raw(t, c.text("state_getStorage", hexOf(twoxKey("System", "Events")))))
	ok(t, err)
	var names []string
	for _, e := range events {
		if e.Extrinsic == 1 && e.Pallet != "Balances" {
			names = append(names, e.Pallet+"."+e.Name)
		}
		if e.Name == "ItemFailed" {
			fields, err := rt.EventFields(e)
			ok(t, err)
			if why := rt.ErrorName(fields.(metadata.Fields).Get("error")); why != "System.NothingAuthorized" {
				t.Errorf("the item has failed for %s", why)
			}
		}
	}
	want := "TransactionPayment.TransactionFeePaid Utility.ItemCompleted Utility.ItemFailed Utility.BatchCompletedWithErrors System.ExtrinsicSuccess"
	if got := strings.Replace(strings.Join(names, " "), "System.NewAccount ", "", 1); got != want {
		t.Errorf("the events are %s, want %s", got, want)
	}
	for _, entry := range []string{"Account", "BlockHash", "Number", "Events", "EventCount", "AuthorizedUpgrade"} {
		if _, err := rt.Storage("System", entry); err != nil {
			t.Error(err)
		}
	}
	version, err := rt.Constant("System", "Version")
	ok(t, err)
	v, err := rt.Value(version.Type, version.Value)
	ok(t, err)
	if text := metadata.Print(v); !strings.Contains(text, `"spec_version":100`) {
		t.Errorf("the version is %s", text)
	}
}
