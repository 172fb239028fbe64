package wire

import (
	"crypto/ed25519"
	"testing"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func counting(from byte) (h txlog.Hash) {
	for i := range h {
		h[i] = from + byte(i)
	}
	return h
}

func sampleGenesis() txlog.Genesis {
	return txlog.Genesis{
		Namespace: "fleet", Machine: "kv/1", Nonce: counting(1), LeaseMS: 3000, Retention: 10_000, Scrub: 1000,
		Members: []txlog.Member{{Name: "ann", Store: 11, Key: counting(2)}, {Name: "bob", Store: 12, Key: counting(3)}},
	}
}

func sampleRecord(index uint64, goal string) txlog.Record {
	r, err := txlog.Seal(txlog.Entry{
		Log: sampleGenesis().ID(), Index: index, Term: 2, Prev: counting(byte(index)), Kind: txlog.Executed, Leader: "ann",
		GoalID: "g", Goal: []byte(goal), Result: []byte("1"), Diff: []byte("d"),
	})
	if err != nil {
		panic(err)
	}
	return r
}

func sampleHead(index uint64) txlog.Head {
	h := txlog.Head{Position: sampleRecord(index, "x").Position(), State: counting(9), Member: "ann"}
	return h.Sign(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
}

func sampleAnswer() follower.History {
	return follower.History{
		Serial: 7, Records: []txlog.Record{sampleRecord(3, "x"), sampleRecord(4, "y")}, Heads: []txlog.Head{sampleHead(4)},
		Bridges: []follower.Bridge{{Records: []txlog.Record{sampleRecord(1, "z")}, Head: sampleHead(1)}, {Head: sampleHead(2)}},
		Offer:   &follower.Offer{Head: sampleHead(2), Size: 300_000, Sums: []txlog.Hash{counting(4), counting(5)}},
	}
}

// samples has a message of each kind.
func samples() map[string]Message {
	id := sampleGenesis().ID()
	return map[string]Message{
		"quorum":               {id, Quorum{Bytes: []byte{1, 2, 3}}},
		"submit":               {id, GoalSent{Try: 3, Goal: txlog.Goal{ID: "g1", Body: []byte("a goal"), Since: 1 << 40}}},
		"answered":             {id, GoalDone{Try: 3, Answer: txlog.Answer{Index: 9, Hash: counting(6), Result: []byte("r")}}},
		"answered-fault":       {id, GoalDone{Try: 3, Answer: txlog.Answer{Index: 9, Fault: "it has failed"}}},
		"answered-not-leader":  {id, GoalDone{Try: 3, Err: txlog.NotLeaderError{Leader: "bob", Term: 5}}},
		"answered-other-goal":  {id, GoalDone{Try: 3, Err: FailureError{Kind: txlog.ErrGoalID, Text: "another goal has this id: g1"}}},
		"answered-old":         {id, GoalDone{Try: 3, Err: FailureError{Kind: txlog.ErrOld, Text: "old"}}},
		"answered-too-many":    {id, GoalDone{Try: 3, Err: FailureError{Kind: txlog.ErrTooMany, Text: "too many"}}},
		"answered-unknown":     {id, GoalDone{Try: 3, Err: FailureError{Kind: txlog.ErrUnknown, Text: "unknown"}}},
		"answered-malformed":   {id, GoalDone{Try: 3, Err: FailureError{Kind: txlog.ErrMalformed, Text: "malformed"}}},
		"answered-size":        {id, GoalDone{Try: 3, Err: FailureError{Kind: txlog.ErrSize, Text: "large"}}},
		"confirm":              {id, Confirm{Serial: 7}},
		"confirmed":            {id, Confirmed{Serial: 7, Index: 9}},
		"confirmed-not-leader": {id, Confirmed{Serial: 7, Err: txlog.NotLeaderError{}}},
		"pull":                 {id, follower.Pull{Serial: 7, From: 1, Upto: 2, Known: 3, Change: 4}},
		"answer":               {id, sampleAnswer()},
		"answer-nothing":       {id, follower.History{}},
		"want":                 {id, follower.Want{At: counting(7), Piece: 3}},
		"piece":                {id, follower.Piece{Want: follower.Want{At: counting(7), Piece: 3}, Bytes: []byte("bytes")}},
		"piece-nothing":        {id, follower.Piece{Want: follower.Want{At: counting(7), Piece: 3}}},
		"admit":                {id, Admit{Store: 99, Key: counting(8)}},
		"twin":                 {id, Twin{Store: 7, Asks: 99}},
	}
}
