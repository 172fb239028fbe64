package node_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/internal/node"
	"github.com/conchhq/conch/chain/substrate/internal/rpc"
)

// The table of what nodes answer (Z17): no code alone says Invalid, and none but a stale nonce says that a block has anything.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code          int
		message, data string
		want          string // a verdict, or those if the bytes fit, are outworn, are nonsense here, or have a nonce that is used
	}{
		{1001, "Extrinsic has invalid format: Codec error", "", "refused|outworn|invalid"},
		{1002, "Verification Error: Runtime error: Execution failed", "RuntimeApi(\"Execution\")", "unfit|outworn|unfit"},
		{1010, "Invalid Transaction", `"Transaction is outdated"`, "index too low"},
		{1010, `{"invalid":{"stale":null}}`, "", "index too low"},
		{1010, "Invalid Transaction", `{"invalid":{"stale":null}}`, "index too low"},
		{1010, "Invalid Transaction", `"Inability to pay some fees (e.g. account balance too low)"`, "no funds"},
		{1010, `{"invalid":{"payment":null}}`, "", "no funds"},
		{1010, "Invalid Transaction", `"Transaction has a bad signature"`, "refused|outworn|outworn"},
		{1010, `{"invalid":{"badProof":null}}`, "", "refused|outworn|outworn"},
		{1010, "Invalid Transaction", `"Transaction has an ancient birth block"`, "refused|outworn|outworn"},
		{1010, `{"invalid":{"ancientBirthBlock":null}}`, "", "refused|outworn|outworn"},
		{1010, "Invalid Transaction", `"Transaction would exhaust the block limits"`, "unfit"},
		{1010, `{"invalid":{"exhaustsResources":null}}`, "", "unfit"},
		{1010, "Invalid Transaction", `"Transaction call is not expected"`, "unfit"},
		{1010, "Invalid Transaction", `"Custom error: 185"`, "unfit"},
		{1010, "Invalid Transaction", `"The signer cannot be determined"`, "unfit"},
		{1010, `{"invalid":{"future":null}}`, "", "full"},
		{1011, "Unknown Transaction Validity", `"Could not lookup information required to validate the transaction"`, "unfit"},
		{1012, "Transaction is temporarily banned", "", "outworn|outworn|outworn|index too low"},
		{1013, "Transaction Already Imported", `"0x00"`, "known"},
		{1014, "Priority is too low: (35108 vs 35108)", `"The transaction has too low priority to replace another transaction already in the pool."`, "underpriced"},
		{1015, "Cycle Detected", "", "unfit"},
		{1016, "Immediately Dropped", `"The transaction couldn't enter the pool because of the limit"`, "full"},
		{1017, "Unactionable", "", "unfit"},
		{1020, "The pool is not accepting future transactions", "", "full"},
		{429, "Too many requests", "", "refused"},
		{rpc.CodeLimit, "Batched requests are limited", "", "refused"},
		{rpc.CodeMethod, "Method not found", "", "refused"},
		{rpc.CodeParams, "Invalid params", "", "refused"},
		{rpc.CodeUnread, "its answer cannot be read", "", "unknown"},
		{-32603, "Internal error", "", "unknown"},
		{1040, "Other", "", "unknown"},
		{9, "Transaction is outdated", "", "unknown"},
	} {
		verdict, asks := node.Judge(&rpc.Error{Code: c.code, Message: c.message, Data: json.RawMessage(c.data)})
		got := verdict.String()
		if r := (node.Reply{Verdict: verdict, Asks: asks}); asks != node.AsksNothing {
			if verdict != chain.Unknown {
				t.Errorf("%d %s %s: %v before it is settled, want unknown", c.code, c.message, c.data, verdict)
			}
			got = fmt.Sprintf("%v|%v|%v", r.Settle(node.Fits).Verdict, r.Settle(node.Worn).Verdict, r.Settle(node.Nonsense).Verdict)
			if asks == node.AsksCount {
				got += "|" + r.Settle(node.Used).Verdict.String()
			}
		}
		if got != c.want {
			t.Errorf("%d %s %s: %s, want %s", c.code, c.message, c.data, got, c.want)
		}
	}
}
