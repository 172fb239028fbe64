package transactions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/service/transactions"
)

// Four times the accounts allocate some four times as much: nothing is made anew for each of them.
func TestReadingAccountsIsLinear(t *testing.T) {
	cost := func(n int) float64 {
		var text strings.Builder
		text.WriteString("[database]\nurl = \"postgres://db/app\"\n")
		for i := range n {
			fmt.Fprintf(&text, "[[chains]]\nname = \"c%d\"\nkind = \"evm\"\nurl = \"http://127.0.0.1:1\"\nchain_id = %d\nfinality = 1\n", i, i+1)
			fmt.Fprintf(&text, "[[accounts]]\nname = \"a%d\"\nchain = \"c%d\"\naddress = \"0x%040x\"\nsigner = \"http://127.0.0.1:9\"\n", i, i, i+1)
		}
		return testing.AllocsPerRun(1, func() {
			if _, err := configtest.Load(t, text.String(), config.Source{Sections: []func() config.Section{transactions.Kind().Section}}, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := cost(50), cost(200); many > 6*few {
		t.Errorf("50 accounts cost %.0f allocations and 200 cost %.0f, want four times as many", few, many)
	}
}
