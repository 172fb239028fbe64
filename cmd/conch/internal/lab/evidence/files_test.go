package evidence_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

func TestLinesComeBack(t *testing.T) {
	dir := t.TempDir()
	write := func(path string, v any) {
		t.Helper()
		lines, err := evidence.OpenLines(path)
		if err == nil {
			err = lines.Append(v)
		}
		if err == nil {
			err = lines.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ack := evidence.Ack{Seq: 1, Epoch: 2, Term: "a", At: 3}
	write(evidence.AckFile(dir, "one"), ack)
	write(evidence.AckFile(dir, "one"), ack) // a restarted process appends to the same file
	write(evidence.AckFile(dir, "two"), ack)
	act := evidence.Act{Start: 1, End: 2, Epoch: 3, Term: "a", Node: "one"}
	write(evidence.OutsideFile(dir), act)

	acks, err := evidence.ReadAcks(dir)
	if err != nil || !slices.Equal(acks, []evidence.Ack{ack, ack, ack}) {
		t.Errorf("got acks %v, %v; want the three that were written", acks, err)
	}
	acts, err := evidence.ReadActs(evidence.OutsideFile(dir))
	if err != nil || !slices.Equal(acts, []evidence.Act{act}) {
		t.Errorf("got acts %v, %v; want the one that was written", acts, err)
	}
}

func TestOnlyAKilledWritersLineMayBeCutOff(t *testing.T) {
	const whole = `{"start":1,"end":2,"epoch":1,"term":"a","node":"n"}`
	for _, c := range []struct {
		name, text string
		acts       int
		says       string
	}{
		{"empty", "", 0, ""},
		{"whole", whole + "\n" + whole + "\n", 2, ""},
		{"cut off at the end", whole + "\n" + `{"start":3,"en`, 1, ""},
		{"cut off and written on by another", `{"start":3,"en` + whole + "\n", 1, ""},
		{"cut off in the middle", `{"start":3,"en` + "\n" + whole + "\n", 0, "outside.acts, line 1"},
		{"rubbish", whole + "\n\n", 0, "line 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "outside.acts")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			acts, err := evidence.ReadActs(path)
			switch {
			case c.says == "" && err != nil:
				t.Fatal(err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Fatalf("error %v, want one with %q", err, c.says)
			case len(acts) != c.acts:
				t.Errorf("%d acts, want %d", len(acts), c.acts)
			}
		})
	}
	if acts, err := evidence.ReadActs(filepath.Join(t.TempDir(), "none")); err != nil || acts != nil {
		t.Errorf("a missing file: got %v, %v; want no acts and no error", acts, err)
	}
}

// A writer killed in the middle of a line leaves its beginning, and the next one continues it.
func TestALineThatAKillCutOff(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int64{
		`{"epoch":3}`:               3,
		`{"epoch":2,"te{"epoch":3}`: 3,
		`{{"epoch":3}`:              3,
		`{"epoch":2,"term":"x`:      -1,
		`epoch`:                     -1,
	} {
		got := evidence.Act{Epoch: -1}
		err := evidence.Decode([]byte(line), &got)
		if (err != nil) != (want < 0) || err == nil && got.Epoch != want {
			t.Errorf("%s: got epoch %d, %v; want epoch %d, -1 for an error", line, got.Epoch, err, want)
		}
	}
}
