package auditor_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
)

const (
	bank   = "0xb0"
	north  = "0xa0"
	issue  = `{"issue":{"to":"rent","amount":10}}`
	pay    = `{"pay":{"from":"rent","to":"wages","amount":4}}`
	wish   = `{"pay":{"from":"void","to":"rent","amount":1}}`
	unsaid = `{"pay":{"from":"wages","to":"rent","amount":1}}`
)

// compiled is the creation of the audited contract, without arguments.
func compiled(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("../../../../../sequencer/evm/solidity/Ledger.json")
	if err != nil {
		t.Fatal(err)
	}
	var artifact struct{ Creation string }
	if err := json.Unmarshal(text, &artifact); err != nil {
		t.Fatal(err)
	}
	code, err := hex.DecodeString(artifact.Creation[2:])
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// The judge has its own idea of what is on a ledger: these two are its ledger's.

func asked(payload string) string {
	h := sha256.Sum256([]byte("conch payload" + payload))
	return "0x" + hex.EncodeToString(h[:])
}

func note(node, state, purse string, amount int) (auditor.Opening, auditor.Output) {
	o := auditor.Opening{Node: node, State: state, Salt: []byte("a salt of sixteen"[:16]), Data: []byte(fmt.Sprintf(`{"purse":%q,"amount":%d}`, purse, amount))}
	b := binary.BigEndian.AppendUint64(append([]byte("conch state data"), o.Salt...), uint64(len(o.Data)))
	h := sha256.Sum256(append(b, o.Data...))
	return o, auditor.Output{State: state, Commitment: "0x" + hex.EncodeToString(h[:])}
}

// at is an instant of the run, in seconds.
func at(seconds int) time.Time { return time.Unix(1_000_000+int64(seconds), 0) }

// acks are acknowledgements; the nth digits are acknowledged n seconds after the beginning.
func acks(ids ...string) (all []auditor.Ack) {
	for _, id := range ids {
		var n int
		_, _ = fmt.Sscan(id, &n)
		all = append(all, auditor.Ack{ID: id, At: at(n)})
	}
	return all
}

// whole returns a record without faults: the bank has issued a note of 10, north has paid 4 of it after an attempt that
// was skipped, a payment of the bank was cancelled on the ledger and another never left. Each test spoils one thing.
func whole(t *testing.T) auditor.Record {
	t.Helper()
	_, issued := note("", "0x51", "rent", 10)
	paid, paidOut := note("bank", "0x52", "wages", 4)
	change, changeOut := note("bank", "0x53", "rent", 6)
	paid2, change2 := paid, change
	paid2.Node, change2.Node = "north", "north"
	return auditor.Record{
		Contract: auditor.Contract{Members: []string{bank, north}, Needed: 1, Names: map[string]string{bank: "bank", north: "north"}, Nodes: []string{"bank", "north"}},
		Requests: []auditor.Request{
			{Owner: bank, Key: "k1", Payload: issue, Acks: acks("01")},
			{Owner: north, Key: "k1", Payload: pay, Acks: acks("01")},
			{Owner: bank, Key: "k2", Payload: wish, Ends: true, Acks: acks("02")},
			{Owner: bank, Key: "k3", Payload: wish, Ends: true, Acks: acks("03")},
			{Owner: bank, Key: "k4", Payload: unsaid}, // nobody has acknowledged it
		},
		Told: []auditor.Told{
			{Owner: bank, ID: "01", Key: "k1", Payload: issue, Fate: "confirmed", Attempt: "0xe1", Block: 5, First: "confirmed"},
			{Owner: north, ID: "01", Key: "k1", Payload: pay, Fate: "confirmed", Attempt: "0xe3", Block: 9}, // a later block proved it
			{Owner: bank, ID: "02", Key: "k2", Payload: wish, Fate: "reverted"},
			{Owner: bank, ID: "03", Key: "k3", Payload: wish, Fate: "reverted"},
		},
		Ledger: auditor.Ledger{
			Created: auditor.Created{Code: compiled(t), Members: []string{bank, north}, Needed: 1},
			Entries: []auditor.Entry{
				{Event: auditor.Landed, Owner: bank, Sequence: "01", Payload: asked(issue), Attempt: "0xe1", Outputs: []auditor.Output{issued}, Block: 5, Sender: north},
				{Event: auditor.Skipped, Owner: north, Sequence: "01", Payload: asked(pay), Attempt: "0xe2", Inputs: []string{"0x51"}, Block: 6, Sender: bank},
				{Event: auditor.Landed, Owner: north, Sequence: "01", Payload: asked(pay), Attempt: "0xe3", Inputs: []string{"0x51"}, Outputs: []auditor.Output{paidOut, changeOut}, Block: 7, Sender: bank},
				{Event: auditor.Cancelled, Owner: bank, Sequence: "02", Block: 8, Sender: bank},
			},
			Unspent: map[string]bool{"0x51": false, "0x52": true, "0x53": true},
			Blocks:  10,
		},
		Openings:   []auditor.Opening{paid, change, paid2, change2},
		Kills:      1,
		Pauses:     2,
		Partitions: 3,
		Ended:      []auditor.Ended{{Node: "north", Refused: true, Said: true}},
		Dispatches: []time.Duration{500 * time.Millisecond},
	}
}
