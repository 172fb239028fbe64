package metric

import (
	"slices"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

// A column that no family has is counted and never exported; one that two have is exported as what it is not.
func TestEveryColumnIsExported(t *testing.T) {
	t.Parallel()
	var exported [3][]int
	for _, f := range families {
		for reason := range max(1, len(f.reasons)) {
			of := map[dto.MetricType]int{dto.MetricType_COUNTER: 0, dto.MetricType_HISTOGRAM: 1, dto.MetricType_GAUGE: 2}[f.kind]
			exported[of] = append(exported[of], f.at+reason)
		}
	}
	for of, all := range []int{columns, timed, gauges} {
		slices.Sort(exported[of])
		for want := range all {
			if want >= len(exported[of]) || exported[of][want] != want {
				t.Fatalf("the families of kind %d have the columns %v, want each of %d once", of, exported[of], all)
			}
		}
		if len(exported[of]) != all {
			t.Errorf("the families of kind %d have the columns %v, want each of %d once", of, exported[of], all)
		}
	}
}
