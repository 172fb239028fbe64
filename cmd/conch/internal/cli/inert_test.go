package cli_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

// Bad input: what others have written is no command to a terminal, and JSON stays the same.
func TestInert(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain é 雪 → 🎉":                    "plain é 雪 → 🎉",
		"id\x1b[31m\u202ex\nfake 99 goal":  `id\u001b[31m\u202ex fake 99 goal`,
		"\u009b31m\x7f\r\ta\U000e0001\xff": `\u009b31m\u007f  a\udb40\udc01\xff`,
	} {
		got := cli.Inert(text)
		if got != want {
			t.Errorf("%q is printed as %q, want %q", text, got, want)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%q has %q", got, got[i:])
		}
	}
	raw := []byte("{\n\t\"a\": \"\u009b31m\u202eX\U000e0001\"\n}")
	var before, after any
	if json.Unmarshal(raw, &before) != nil || json.Unmarshal([]byte(cli.Inert(raw)), &after) != nil || !reflect.DeepEqual(before, after) {
		t.Errorf("JSON became %s", cli.Inert(raw))
	}
}

// No value adds to the layout of a row, whatever its type and verb. What %q has escaped is not escaped again.
func TestRow(t *testing.T) {
	t.Parallel()
	const evil = "a\tb\n\x1b[31m"
	got := cli.Row("%-*s|\t%s|%v|%s|%q|%d|%.1f|%v", 4, "ab", evil, errors.New(evil), json.RawMessage(evil), evil, 7, 0.25, []string{evil})
	const want = `ab  |` + "\t" + `a b \u001b[31m|a b \u001b[31m|a b \u001b[31m|"a\tb\n\x1b[31m"|7|0.2|[a b \u001b[31m]`
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A name of megabytes, as a role may write one, does not make each row as wide.
func TestATableIsNotAsWideAsItsLongestName(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := &cli.Shell{World: cli.World{Stdout: &out}}
	if err := s.Table("SCOPE\tHOLDER\tSTATE", []string{cli.Row("a\t%s\tleads", strings.Repeat("é", 1<<20)), "b\tn1\tleads"}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); len(text) > 6000 || !strings.Contains(text, "éé…   leads\n") || !strings.HasPrefix(text, "SCOPE   HOLDER ") {
		t.Errorf("%d bytes: %.100q", len(text), text)
	}
}
