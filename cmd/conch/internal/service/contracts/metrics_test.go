package contracts

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/conchhq/conch/sequencer"
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

// entries exports the entries of a status alone.
type entries sequencer.Status

func (entries) Describe(to chan<- *prometheus.Desc) { to <- entriesDesc }

func (e entries) Collect(to chan<- prometheus.Metric) {
	all := make(chan prometheus.Metric, 100)
	contractMetrics(all, "0xc0", sequencer.Status(e))
	close(all)
	for m := range all {
		if m.Desc() == entriesDesc {
			to <- m
		}
	}
}

// Each end of an entry is exported, also one that none has had.
func TestEntriesAreCountedByTheirEnd(t *testing.T) {
	t.Parallel()
	s := entries{Landed: 3, Skipped: map[string]uint64{"not_endorsed": 2, "disowned": 0}}
	const want = `# HELP conch_sequencer_entries_total Entries that this node has sent to the ledger since its start, by how they have ended.
# TYPE conch_sequencer_entries_total counter
conch_sequencer_entries_total{contract="0xc0",end="disowned"} 0
conch_sequencer_entries_total{contract="0xc0",end="landed"} 3
conch_sequencer_entries_total{contract="0xc0",end="not_endorsed"} 2
`
	if err := testutil.CollectAndCompare(s, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
