//go:build unix

package transactions

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/chain/evm/evmtest"
)

// costs collects what each profile cost, for the table in chain/evm/evmtest/costs.md:
//
//	CONCH_COSTS=1 go test ./internal/service/transactions -run TestProviders -v | grep '^|'
type costs struct {
	mu   sync.Mutex
	rows map[string]string
}

var spent costs

// printed reports whether the table is asked for.
func (*costs) printed() bool { return os.Getenv("CONCH_COSTS") != "" }

// note notes what a course has cost.
func (c *costs) note(w *course) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows == nil {
		c.rows = map[string]string{}
	}
	calls := 0
	for _, n := range w.provider.Calls() {
		calls += n
	}
	many := float64(len(w.ids))
	c.rows[w.profile.Name] = fmt.Sprintf("| `%s` | %d | %.1f | %.2f | %d | %.1f |", w.profile.Name, len(w.ids), float64(calls)/many,
		float64(len(w.provider.Sent()))/many, w.provider.Refused(), time.Since(w.began).Seconds())
}

// print prints the table, with a provider first that has no faults.
func (c *costs) print() {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Println("| profile | transactions | calls for each | sends for each | calls refused | seconds until all were final |")
	fmt.Println("|---|---:|---:|---:|---:|---:|")
	var rows []string
	for name, row := range c.rows {
		if name != healthy.Name && !strings.Contains(name, ", beside it") {
			rows = append(rows, row)
		}
	}
	slices.Sort(rows)
	fmt.Println(strings.Join(append([]string{c.rows[healthy.Name]}, rows...), "\n"))
}

// healthy is a provider without faults.
var healthy = evmtest.Profile{Name: "none", Harmless: true, Intents: 20, Who: "a provider without faults"}

// priced returns the profiles to be run, with a healthy one first if the table is asked for.
func priced(t *testing.T, all []evmtest.Profile) []evmtest.Profile {
	t.Helper()
	if !spent.printed() {
		return all
	}
	return append([]evmtest.Profile{healthy}, all...)
}
