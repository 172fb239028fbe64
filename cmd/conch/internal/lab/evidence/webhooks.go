package evidence

import (
	"errors"
	"fmt"
)

// Told is an event of a transaction that a receiver of webhooks has confirmed.
type Told struct {
	ID      string // the transaction's
	Version uint64
	Event   string // such as final
}

// Hook is what a receiver of webhooks was told.
type Hook struct {
	Told   []Told // in the order in which it was confirmed
	Forged int    // messages that nobody with the secret has signed
}

// Webhooks is the part of a verdict about a receiver.
type Webhooks struct {
	Finals    int `json:"finals"`      // transactions that have ended
	Told      int `json:"told"`        // of which the receiver was told the end
	Again     int `json:"again"`       // ends that were told more than once, under the same version
	OutOfTurn int `json:"out_of_turn"` // events that came after a later one of the same transaction
	Forged    int `json:"forged"`
}

// JudgeWebhooks compares what a receiver was told with the ends that the database has.
func JudgeWebhooks(h Hook, intents []Intent) Webhooks {
	v := Webhooks{Forged: h.Forged}
	newest, ends := map[string]uint64{}, map[string]int{}
	for _, t := range h.Told {
		if t.Version < newest[t.ID] {
			v.OutOfTurn++
		}
		if t.Version == newest[t.ID] {
			v.Again++
		}
		newest[t.ID] = max(newest[t.ID], t.Version)
		if t.Event == "final" || t.Event == rejected {
			ends[t.ID]++
		}
	}
	for _, in := range intents {
		switch in.Fate {
		case done, cancelled, rejected:
			if v.Finals++; ends[in.ID] > 0 {
				v.Told++
			}
		}
	}
	return v
}

// Fault returns an error that says what is wrong, or nil.
func (w Webhooks) Fault() error {
	switch {
	case w.Told < w.Finals, w.OutOfTurn+w.Forged > 0:
		return fmt.Errorf("of %d ends of transactions %d were told to the receiver of webhooks; %d events came out of turn, %d had a wrong signature", w.Finals, w.Told, w.OutOfTurn, w.Forged)
	case w.Finals == 0:
		return errors.New("no transaction has ended, so nothing was shown of webhooks")
	}
	return nil
}
