package sequencer

import (
	"log/slog"
	"testing"

	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// signer is the key of a member in the fake scheme.
type signer ledger.Account

func (s signer) Sign(h ledger.Hash) ([]byte, error) {
	return model.Fake{}.Sign(ledger.Account(s), h), nil
}

// witness is node a without a loop, and a contract of it.
func witness() (*Node, *place) {
	n := &Node{cfg: Config{Self: "a", Keys: signer("a"), Log: slog.New(slog.DiscardHandler)}}
	return n, &place{set: &Contract{Scheme: model.Fake{}, Declared: ledger.Contract{Address: "k"}}}
}

// What is refused is not signed: a liar that asks could use the signature as an endorsement, or as a grant, all the same.
func TestARefusalIsNotSigned(t *testing.T) {
	t.Parallel()
	for why, signed := range map[wire.Why]bool{wire.Done: true, wire.Refused: false} {
		for _, body := range []wire.Body{
			wire.Endorsed{Verdicts: []wire.Verdict{{Why: why, Assembled: ledger.Hash{1}}}},
			wire.Granted{Items: []wire.GrantResult{{Why: why, Grant: ledger.Grant{Assembled: ledger.Hash{1}}}}},
		} {
			n, p := witness()
			var signature []byte
			n.sign(p, body, func(is wire.Body) {
				switch is := is.(type) {
				case wire.Endorsed:
					signature = is.Verdicts[0].Signature
				case wire.Granted:
					signature = is.Items[0].Grant.Signature
				}
			})
			if n.group.Wait(); (signature != nil) != signed {
				t.Errorf("%T, %v: it is signed %v", body, why, signature != nil)
			}
		}
	}
}

// A message has many signatures, and one wrong one is enough: each is looked at, whichever worker does it.
func TestEachSignatureIsLookedAt(t *testing.T) {
	t.Parallel()
	const many = 2*part + 3
	for _, wrong := range []int{-1, 0, 1, part, many - 1} {
		n, p := witness()
		var endorsed wire.Endorsed
		var granted wire.Granted
		var all []int
		for i := range many {
			by := ledger.Account("b")
			if i == wrong {
				by = "c"
			}
			v := wire.Verdict{Assembled: ledger.Hash{byte(i)}}
			v.Signature, _ = signer(by).Sign(v.Assembled)
			g := ledger.Grant{Assembled: ledger.Hash{byte(i)}}
			g.Signature, _ = signer(by).Sign(p.set.Scheme.Granted(p.set.Declared, g))
			endorsed.Verdicts, granted.Items, all = append(endorsed.Verdicts, v), append(granted.Items, wire.GrantResult{Grant: g}), append(all, i)
		}
		for _, body := range []wire.Body{endorsed, granted} {
			forged := false
			n.verify(p, core.Verify{Received: core.Received{From: "b", Message: wire.Message{Body: body}}, Needed: all}, func(is core.Received) { forged = is.Forged })
			if n.group.Wait(); forged != (wrong >= 0) {
				t.Errorf("%T, signature %d is wrong: it is forged %v", body, wrong, forged)
			}
		}
	}
}
