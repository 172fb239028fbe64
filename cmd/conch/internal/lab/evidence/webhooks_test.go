package evidence_test

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// Each end is told once at least, and none out of turn.
func TestWebhooksAreJudged(t *testing.T) {
	t.Parallel()
	told := func(id string, version uint64, event string) evidence.Told {
		return evidence.Told{ID: id, Version: version, Event: event}
	}
	ended := []evidence.Intent{{ID: "a", Fate: "done"}, {ID: "b", Fate: "cancelled"}, {ID: "c", Fate: "rejected"}, {ID: "d", Fate: "open"}}
	all := []evidence.Told{told("a", 2, "accepted"), told("b", 4, "final"), told("a", 3, "final"), told("c", 2, "rejected")}
	for name, c := range map[string]struct {
		hook    evidence.Hook
		intents []evidence.Intent
		says    string // of the fault; empty: none
	}{
		"all of them":          {evidence.Hook{Told: all}, ended, ""},
		"one of them again":    {evidence.Hook{Told: append(all[:4:4], told("a", 3, "final"))}, ended, ""},
		"none at all":          {evidence.Hook{}, ended, "of 3 ends of transactions 0 were told"},
		"not the last one":     {evidence.Hook{Told: all[:3]}, ended, "of 3 ends of transactions 2 were told"},
		"another event":        {evidence.Hook{Told: append(all[:3:3], told("c", 2, "waiting"))}, ended, "2 were told"},
		"out of turn":          {evidence.Hook{Told: append(all[:4:4], told("a", 2, "accepted"))}, ended, "1 events came out of turn"},
		"signed by a stranger": {evidence.Hook{Told: all, Forged: 1}, ended, "1 had a wrong signature"},
		"nothing has ended":    {evidence.Hook{}, ended[3:], "nothing was shown of webhooks"},
	} {
		v := evidence.JudgeWebhooks(c.hook, c.intents)
		if err := v.Fault(); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if name == "one of them again" && v.Again != 1 {
			t.Errorf("%d were told again, want 1", v.Again)
		}
	}
	a := whole()
	r := sound()
	r.Account, r.Hook = &a, &evidence.Hook{}
	if err := evidence.Judge(r).Fault(true); err == nil || !strings.Contains(err.Error(), "receiver of webhooks") {
		t.Errorf("a run whose receiver was told nothing has the fault %v", err)
	}
}
