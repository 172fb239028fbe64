package domain_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// What members keep from the ledger must never be in a log, in whatever it is wrapped.
func TestNothingPrintsASecret(t *testing.T) {
	t.Parallel()
	const secret = "wherewithal"
	hidden := domain.Secret{Salt: [16]byte([]byte("wherewithal-salt")), Data: []byte(secret)}
	state := domain.State{ID: ledger.StateID{1}, Secret: hidden}
	for _, v := range []any{
		hidden, &hidden, []domain.Secret{hidden}, state, &state, []domain.State{state}, map[string]domain.State{"x": state}, struct{ S domain.State }{state},
		domain.Call{Payload: []byte(secret)}, domain.Proposal{Payload: []byte(secret), Inputs: []domain.State{state}, Outputs: [][]byte{[]byte(secret)}, Data: []byte(secret)},
	} {
		out := fmt.Sprintf("%v %+v %#v %s %q %x %d", v, v, v, v, v, v, v)
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("got", "value", v)
		switch v.(type) {
		case domain.Secret, *domain.Secret, domain.State, *domain.State, domain.Call, domain.Proposal:
			slog.New(slog.NewJSONHandler(&log, nil)).Info("got", "value", v)
		}
		out += log.String()
		for _, form := range []string{secret, fmt.Sprintf("%x", secret), strings.Trim(fmt.Sprintf("%v", []byte(secret)), "[]"), "d2hlcmV3aXRoYW", strings.Trim(fmt.Sprintf("%#v", []byte(secret)), "[]byte{}")} {
			if strings.Contains(strings.ToLower(out), strings.ToLower(form)) {
				t.Errorf("%T prints a secret: %s", v, out)
			}
		}
	}
	if got, want := fmt.Sprint(state), "the state "+state.ID.String()+" with 11 bytes"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
