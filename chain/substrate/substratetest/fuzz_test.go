package substratetest_test

import (
	"encoding/json"
	"testing"

	"github.com/conchhq/conch/chain/substrate/scale"
	"github.com/conchhq/conch/chain/substrate/substratetest"
)

// FuzzMessage sends what is no call to a node, and then asks it for its name: nothing that a client says ends it.
func FuzzMessage(f *testing.F) {
	alice := newKey(f, kindEd25519, 1)
	cfg := rich(alice)
	cfg.Archive = true
	node := start(f, cfg)
	node.MineBlocks(2)
	one := hexOf(alice.extrinsic(node, draft{}))
	for _, m := range []string{
		`{"id":1,"method":"author_submitAndWatchExtrinsic","params":["` + one + `"]}`,
		`{"id":1,"method":"state_call","params":["TransactionPaymentApi_query_info","` + one + `78000000"]}`,
		`{"id":1,"method":"state_call","params":["Metadata_metadata_at_version","0x0f000000"]}`,
		`{"id":1,"method":"state_call","params":["AccountNonceApi_account_nonce","0x00"]}`,
		`[{"id":1,"method":"chain_getBlockHash","params":[[1,"0x1","0x",null,-1]]},7,[]]`,
		`{"id":null,"method":"system_accountNextIndex","params":["5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"]}`,
		`{"id":1,"method":"state_getKeysPaged","params":["0x",10,"0x26",null]}`,
		`{"id":1,"method":"state_queryStorageAt","params":[["0x3a636f6465","x"],null]}`,
		`{"id":1,"method":"author_removeExtrinsic","params":[[{"hash":"0x"},{"extrinsic":"` + one + `"}]]}`,
		`{"id":1,"method":"archive_v1_hashByHeight","params":[1]}`,
		`{"id":1,"method":"chain_unsubscribeNewHeads","params":[1.5]}`,
	} {
		f.Add(m)
	}
	f.Fuzz(func(t *testing.T, message string) {
		for _, answer := range node.Front().Serve([]byte(message)) {
			if !json.Valid(answer) {
				t.Errorf("the answer to %q is %q", message, answer)
			}
		}
		if got := node.Front().Serve([]byte(`{"id":1,"method":"system_name"}`)); len(got) != 1 {
			t.Errorf("after %q nothing is answered", message)
		}
	})
}

// FuzzExtrinsic offers bytes to the pool and to a block, for both sizes of accounts.
func FuzzExtrinsic(f *testing.F) {
	var nodes []*substratetest.Node
	for _, kind := range []byte{kindEd25519, kindEthereum} {
		alice := newKey(f, kind, 1)
		cfg := rich(alice)
		cfg.Keeps = 1
		node := start(f, cfg)
		nodes = append(nodes, node)
		for _, d := range []draft{{}, {period: 64, birth: node.Head()}, {tip: tipped(1e9)}, {call: batch(4, remark("a"), batch(0, remark("b")))}, {call: transfer(0, alice.account, 7)}} {
			f.Add(alice.extrinsic(node, d))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, node := range nodes {
			for _, one := range [][]byte{raw, scale.AppendBlob(nil, raw)} {
				for _, call := range []string{
					`"author_submitExtrinsic","params":[` + quoted(one),
					`"payment_queryInfo","params":[` + quoted(one),
					`"state_call","params":["TaggedTransactionQueue_validate_transaction",` + quoted(append(append([]byte{0}, one...), make([]byte, 32)...)),
					`"state_call","params":["TransactionPaymentApi_query_info",` + quoted(append(append([]byte{}, one...), 9, 0, 0, 0)),
				} {
					if got := node.Front().Serve([]byte(`{"id":1,"method":` + call + `]}`)); len(got) != 1 {
						t.Errorf("%s is answered with %q", call, got)
					}
				}
				_, _ = node.Seal(one)
				node.Mine()
				node.Finalize()
			}
		}
	})
}

func quoted(b []byte) string { return `"` + hexOf(b) + `"` }
