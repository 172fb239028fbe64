package contracts

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

var described = regexp.MustCompile(`fqName: "conch_sequencer_(\w+)".*variableLabels: \{([^}]*)\}`)

// The table of docs/contracts.md has every metric with its labels, and no other.
func TestEveryMetricIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../../docs/contracts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(string(text), "| metric | labels | what it is |\n|---|---|---|\n")
	rows, _, _ = strings.Cut(rows, "\n\n")
	var documented, exported []string
	for row := range strings.SplitSeq(rows, "\n") {
		cells := strings.Split(row, "|")
		if len(cells) < 4 {
			t.Fatalf("%q is no row of the table of metrics", row)
		}
		documented = append(documented, strings.Trim(strings.TrimSpace(cells[1]), "`")+" "+strings.NewReplacer("`", "", " ", "").Replace(cells[2]))
	}
	all := make(chan *prometheus.Desc, 100)
	(&collector{}).Describe(all)
	close(all)
	for d := range all {
		found := described.FindStringSubmatch(d.String())
		if found == nil {
			t.Fatalf("%s has no name", d)
		}
		exported = append(exported, found[1]+" "+found[2])
	}
	slices.Sort(documented)
	slices.Sort(exported)
	if !slices.Equal(documented, exported) {
		t.Errorf("docs/contracts.md has the metrics\n%s\nand the program\n%s", strings.Join(documented, "\n"), strings.Join(exported, "\n"))
	}
}
