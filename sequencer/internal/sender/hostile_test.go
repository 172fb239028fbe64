package sender

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// askWith sends an Assemble of one intent with a context.
func (s *story) askWith(key string, c wire.Context) []string {
	msg := s.message("assemble", "a", []string{key})
	body := msg.Body.(wire.Assemble)
	body.Context = c
	msg.Body = body
	return s.step(Received{From: "a", Message: msg})
}

// Q15: a coordinator says what a state has in it. Where the node's own book knows better, it is not believed: the owner
// would spend one state for another.
func TestACoordinatorDoesNotSayWhatAStateHas(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x", "stored", "accepted a", "assemble a k1", "ask a k1", "stored", "block k1=A1", "submit k2 move gold y", "stored", "accepted a")
	lie := domain.State{
		ID: model.Fake{}.State(s.attempts[0], 0), Creator: s.wholes[0].Attempt.Intent, Assembled: s.attempts[0],
		Secret: domain.Secret{Data: []byte("gold")},
	}
	if done := s.askWith("k2", wire.Context{Version: 1, Created: []domain.State{lie}}); done[0] != "to a: assembled k2:conflict" {
		t.Errorf("an x is spent as gold: %q", done)
	}
	lie.ID = ledger.StateID{1} // this one is not known: what it has is the endorsers' to judge
	if done := s.askWith("k2", wire.Context{Version: 2, Base: 1, Created: []domain.State{lie}}); done[0] != "to a: assembled k2:A2" {
		t.Errorf("what the coordinator alone knows is not used: %q", done)
	}
}

// I2, I10: attempts of any size are answered for, each in time: an answer that is too large for a message would never
// arrive, with all that is in it.
func TestAnAnswerFitsIntoAMessage(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	keys := make([]string, 64)
	word := strings.Repeat("x", 60_000)
	for i := range keys {
		keys[i] = fmt.Sprint("k", i)
		s.play("submit "+keys[i]+" make "+word, "stored")
	}
	s.play("accepted a", "accepted a")
	for round := 0; len(keys) > 0; round++ {
		msg := s.message("assemble", "a", keys)
		out := s.m.Step(s.now, Received{From: "a", Message: msg})
		answer := out[0].(Send).Message
		if _, err := wire.Encode(answer); err != nil || round == 10 {
			t.Fatalf("round %d: %v with error %v", round, answer, err)
		}
		var later []string
		for i, r := range answer.Body.(wire.Assembled).Results {
			switch {
			case r.Why == wire.NotBefore && r.NotBefore > 0:
				later = append(later, keys[i])
			case r.Why != wire.Done || len(later) > 0:
				t.Fatalf("%s: %v, after %d that come later", keys[i], r.Why, len(later))
			}
		}
		keys = later
	}
}

// D20: an attempt that no message can hold is a failure of the rules, and counted as one.
func TestAnAttemptThatCannotBeSent(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make "+strings.Repeat("x", wire.MostData+1), "stored", "accepted a")
	for _, want := range []string{"k1:failed", "k1:failed", "k1:ended"} {
		if done := s.play("assemble a k1"); done[0] != "to a: assembled "+want {
			t.Fatalf("got %q, want %s", done, want)
		}
	}
	if why := s.m.Snapshot()[0].Why; !strings.Contains(why, "too large") || len(why) > 200 {
		t.Errorf("its user is told %q", why)
	}
}

// A coordinator's context is bounded: changes that only ever add have it sent whole again, and what it said is forgotten.
func TestAContextIsBounded(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x", "stored", "accepted a")
	again := 0
	for n := range uint64(100) {
		c := wire.Context{Base: n, Version: n + 1, Locked: make([]ledger.StateID, wire.MostNames)}
		for i := range c.Locked {
			binary.BigEndian.PutUint64(c.Locked[i][:], n<<32|uint64(i))
		}
		if done := s.askWith("k1", c); done[0] == "to a: rejected: out of step" {
			if again++; s.m.peers["a"].context != nil {
				t.Fatal("it is kept")
			}
			break
		}
	}
	if again == 0 {
		t.Error("6,500,000 states are remembered")
	}
	if done := s.askWith("k1", wire.Context{Version: 300}); !strings.HasPrefix(done[0], "to a: assembled k1:A") {
		t.Errorf("a whole context is not taken: %q", done)
	}
}

// A node that has an intent cannot fill the store with grants of one attempt, each for another account.
func TestGrantsOfOneAttemptAreFew(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x", "stored", "accepted a", "assemble a k1", "ask a k1", "stored")
	msg := s.message("ask", "a", []string{"k1"})
	body := msg.Body.(wire.AskGrant)
	body.By = "another"
	msg.Body = body
	if done := s.step(Received{From: "a", Message: msg}); len(done) != 1 || done[0] != "to a: granted k1:not before" {
		t.Errorf("another grant while one may be used: %q", done)
	}
	s.now += 2 * time.Second
	if done := s.step(Received{From: "a", Message: msg}); len(done) != 1 || !strings.Contains(done[0], "store [grant of k1") {
		t.Errorf("no grant for another account later: %q", done)
	}
}

// Q19, P38: the answer to a commit of an earlier start comes when another machine runs. It is not taken for the answer to
// one of its own: nothing leaves that is not stored.
func TestACommitOfAnEarlierStart(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.play("submit k1 make x", "stored", "submit k2 make x")
	old := s.stores[0].ID
	s.play("crash", "submit k3 make x", "submit k4 make x", "cancel k1")
	for _, id := range []uint64{1, 2, 3, old - 1, old, old + 1} {
		if done := s.step(Stored{ID: id}); len(done) > 0 {
			t.Errorf("with the answer of store %d of another start: %q", id, done)
		}
	}
	if done := s.step(Stored{ID: s.stores[0].ID}); len(done) == 0 {
		t.Error("its own answer is not taken")
	}
}

// What members keep from the ledger must never be in a log, in whatever row or action it comes.
func TestNothingPrintsAPayload(t *testing.T) {
	t.Parallel()
	const secret = "wherewithal"
	s := newStory(t)
	var all []any
	in := IntentRow{Key: "k1", Payload: []byte("make " + secret)}
	s.step(in)
	all = append(all, in, s.stores[0], s.stores[0].Intents, s.stores[0].Intents[0])
	s.play("stored", "accepted a", "assemble a k1", "ask a k1")
	all = append(all, s.stores[0], s.stores[0].Grants[0])
	s.play("stored")
	all = append(all, s.disk.loaded(), s.disk.loaded()[0])
	for _, v := range all {
		out := fmt.Sprintf("%v %+v %#v %s %q %x %d", v, v, v, v, v, v, v) + fmt.Sprint(slog.AnyValue(v).Resolve())
		for _, form := range []string{secret, fmt.Sprintf("%x", secret), strings.Trim(fmt.Sprintf("%v", []byte(secret)), "[]")} {
			if strings.Contains(out, form) {
				t.Errorf("%T prints a payload: %s", v, out)
			}
		}
	}
}
