package condition

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the program makes of the pages")

var quoted = regexp.MustCompile("`([a-z_]+)`")

// What check knows of metrics is what docs/metrics.md and docs/contracts.md have; other tests compare those with what a node exports.
func TestMetrics(t *testing.T) {
	t.Parallel()
	page := func(name string) string {
		text, err := os.ReadFile("../../../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var lines []string
	for line := range strings.Lines(page("metrics.md")) {
		if cells := strings.Split(line, " | "); len(cells) > 3 && strings.HasPrefix(line, "| `conch_") {
			var labels []string
			for one := range strings.SplitSeq(cells[2], ";") {
				if found := quoted.FindStringSubmatch(one); found != nil {
					labels = append(labels, found[1])
				}
			}
			slices.Sort(labels)
			lines = append(lines, strings.Join(append([]string{strings.Trim(cells[0], "| `"), cells[1]}, labels...), " "))
		}
	}
	_, table, _ := strings.Cut(page("contracts.md"), "with the prefix `conch_sequencer_`")
	table, _, _ = strings.Cut(table, "\n## ")
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		name := quoted.FindStringSubmatch(line)
		if len(cells) < 4 || name == nil || !strings.HasPrefix(line, "| `") {
			continue
		}
		kind := map[bool]string{true: "counter", false: "gauge"}[strings.HasSuffix(name[1], "_total")]
		var labels []string
		for _, found := range quoted.FindAllStringSubmatch(cells[2], -1) {
			labels = append(labels, found[1])
		}
		slices.Sort(labels)
		lines = append(lines, strings.Join(append([]string{"conch_sequencer_" + name[1], kind}, labels...), " "))
	}
	slices.Sort(lines)
	want := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile("metrics.txt", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if printed != want || len(lines) < 70 {
		t.Errorf("metrics.txt is not what the pages have: go test ./cmd/conch/internal/condition -run TestMetrics -update. Want\n%s", want)
	}
}
