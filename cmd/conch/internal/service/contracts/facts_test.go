package contracts

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
)

// Without an account nobody knows on which chain a contract is, and the doctor says which name is wrong.
func TestContractsWithoutAccounts(t *testing.T) {
	t.Parallel()
	c, err := load(t, whole)
	if err != nil {
		t.Fatal(err)
	}
	a := config.Of[*Section](c).contracts[0]
	if got := consult(t.Context(), c, "bank", a); !strings.Contains(got.account, `no [[accounts]] has that name: "ops"`) || got.here.Address != "" || got.away != "" {
		t.Errorf("%+v", got)
	}
	var faults []string
	check(c, func(key string, err error) {
		if err != nil {
			faults = append(faults, key+": "+err.Error())
		}
	})
	text := strings.Join(faults, "\n")
	if want := `contracts[0].account: no [[accounts]] has that name: "ops"`; !strings.Contains(text, want) {
		t.Errorf("got the faults %s\nwant %q", text, want)
	}
}
