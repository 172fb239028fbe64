package sequencer_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sequencertest"
	"github.com/conchhq/conch/sequencer/sequencertest/liar"
)

// spoiling puts one wrong byte into a signature of each entry, as a coordinator does that lies, or whose memory is damaged.
type spoiling struct{ *sequencertest.Chain }

func (s spoiling) Submit(ctx context.Context, tx ledger.Sent) error {
	tx.Entries = slices.Clone(tx.Entries)
	for i, e := range tx.Entries {
		signed := slices.Clone(e.Endorsements)
		signed[0].Signature = wrong(signed[0].Signature)
		tx.Entries[i].Endorsements = signed
	}
	return s.Chain.Submit(ctx, tx)
}

func wrong(signature []byte) []byte {
	signature = slices.Clone(signature)
	signature[0]++
	return signature
}

func signsWrongly(bad *organisation) {
	lie, _ := liar.Named("signs wrongly")
	bad.lie = &lie
}

// P34, Q3: what one node signs or sends wrongly is at the door of that node. The intents of the others end as confirmed, and log
// and status name the node; what it has spoilt is counted where it was.
func TestOneNodeIsBlamedForItsSignatures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		place int // of the bad one, in the order of the range
		spoil func(bad *organisation)
		log   string
		named bool // at the others
		skips bool
		own   string // what it says of itself
	}{
		{"a coordinator sends what is not endorsed", 0, func(bad *organisation) { bad.ledger = spoiling{bad.chain} }, "it is left out until the range turns", true, true, ""},
		{"a coordinator has a damaged key", 0, func(bad *organisation) { bad.keys = garbage{} }, "this node cannot sign", false, false, "is not its signature"},
		{"a member signs wrongly", 1, signsWrongly, "a member signs wrongly", true, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				g := newGroup(t, 4, 2)
				g.sleepAfter = time.Hour
				g.declared.Committee = g.declared.Members[1:] // the first one issues
				committee, err := g.declared.Ranking()
				if err != nil {
					t.Fatal(err)
				}
				at := slices.IndexFunc(g.members, func(o *organisation) bool {
					return string(account(o.name)) == committee.Order(0)[c.place]
				})
				bad, good := g.members[at], slices.Delete(slices.Clone(g.members), at, at+1)
				c.spoil(bad)
				var log bytes.Buffer
				g.log = slog.New(slog.NewTextHandler(&log, nil))
				for _, o := range g.members {
					o.start()
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				for _, o := range g.members { // one that does not listen yet is left out
					if _, err := o.node.Status(ctx, "k"); err != nil {
						t.Fatal(err)
					}
				}
				submit := func(o *organisation, key, request string) {
					if _, err := o.node.Submit(ctx, "k", key, []byte(request), 0); err != nil {
						t.Fatal(err)
					}
				}
				submit(good[0], "funds", `{"issue": {"to": "office", "amount": 12}}`)
				for i := range 12 {
					submit(good[i%3], fmt.Sprint(i), `{"pay": {"from": "office", "to": "desk", "amount": 1}}`)
				}
				submit(bad, "bad", `{"pay": {"from": "desk", "to": "office", "amount": 1}}`)
				for i := range 12 {
					if r, err := good[i%3].node.Wait(ctx, "k", fmt.Sprint(i)); err != nil || !r.Confirmed {
						t.Fatalf("payment %d ends as %+v, %v; want it confirmed", i, r, err)
					}
				}
				named := false
				for _, o := range good {
					s, err := o.node.Status(ctx, "k")
					if err != nil {
						t.Fatal(err)
					}
					for _, m := range s.Members {
						named = named || m.Forges && m.Account == account(bad.name)
						if m.Forges && m.Account != account(bad.name) {
							t.Errorf("%s blames %v", o.name, m.Account)
						}
					}
				}
				s, err := bad.node.Status(ctx, "k")
				if err != nil {
					t.Fatal(err)
				}
				if skipped := g.chain.Skipped() > 0; named != c.named || skipped != c.skips || s.Skipped["not_endorsed"] > 0 != c.skips {
					t.Errorf("it is named: %v, want %v; skipped: %d; it counts %v", named, c.named, g.chain.Skipped(), s.Skipped)
				}
				if !strings.Contains(s.Unsigned, c.own) || c.own == "" && s.Unsigned != "" {
					t.Errorf("it says of its key %q, want %q", s.Unsigned, c.own)
				}
				for _, o := range g.members {
					o.halt()
				}
				if text := log.String(); !strings.Contains(text, c.log) || c.named && !strings.Contains(text, account(bad.name).String()) {
					t.Errorf("the log lacks %q:\n%s", c.log, text)
				}
			})
		})
	}
}
