package transactions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/config"
)

// Budget is what an endpoint takes of one process.
type Budget struct {
	Calls int    // a second, in units of Costs; 0: learned from what it refuses
	Costs string // units of methods, such as "eth_call=26 eth_getLogs=75": a Chain is compared with another one
}

// budgetKeys are those of the tables that have a budget.
func budgetKeys(d *config.Decoder, b *Budget) map[string]config.Setter {
	return map[string]config.Setter{"max_calls_per_second": readCalls(d, &b.Calls), "costs": readCosts(d, &b.Costs)}
}

// readCalls reads a whole number above 0: to leave the limit to the endpoint, leave the key out.
func readCalls(d *config.Decoder, to *int) config.Setter {
	return func(place string, value any) {
		if value == int64(0) {
			d.Fault(place, "with 0 calls nothing is ever sent: leave it out, and the rate is learned from what the endpoint refuses")
			return
		}
		d.Count(to)(place, value)
	}
}

// readCosts reads a table of methods and what a call of each costs.
func readCosts(d *config.Decoder, to *string) config.Setter {
	return func(place string, value any) {
		table, is := value.(map[string]any)
		if !is {
			d.Fault(place, "write the units of each method that costs more than one: {eth_getBlockReceipts = 20}")
			return
		}
		var list []string
		for _, method := range slices.Sorted(maps.Keys(table)) {
			units, err := strconv.ParseFloat(fmt.Sprint(table[method]), 64)
			if err != nil || !(units > 0) {
				d.Fault(place+"."+method, "%v is no number of units above 0", table[method])
				continue
			}
			list = append(list, method+"="+strconv.FormatFloat(units, 'g', -1, 64))
		}
		*to = strings.Join(list, " ")
	}
}

// costs returns the units by method.
func (b Budget) costs() map[string]float64 {
	all := map[string]float64{}
	for one := range strings.FieldsSeq(b.Costs) {
		method, units, _ := strings.Cut(one, "=")
		all[method], _ = strconv.ParseFloat(units, 64) // as readCosts wrote it
	}
	return all
}

// over returns the budget of an endpoint, with what it leaves out from the budget of its chain.
func (b Budget) over(of Budget) Budget {
	b.Calls = cmp.Or(b.Calls, of.Calls)
	b.Costs = cmp.Or(b.Costs, of.Costs)
	return b
}
