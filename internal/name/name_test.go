package name_test

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/name"
)

// Bad input: what looks like another name is refused with the reason, and what people write is not.
func TestNamesThatReadersCannotTellApart(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"mailer ":             "begins or ends with a space",
		" mailer":             "begins or ends with a space",
		"mail\u00a0er":        "U+00A0",
		"mail\u200ber":        "U+200B",
		"mail\u00ader":        "U+00AD",
		"mail\u202eer":        "U+202E",
		"mail\u3164er":        "U+3164", // a letter of Korean that shows nothing
		"mail\u2800er":        "U+2800",
		"mailer\ufe0f":        "U+FE0F",
		"mailer\U000e0041":    "U+E0041",
		"mail\ter":            "U+0009",
		"mail\u009ber":        "U+009B",
		"mail\xffer":          "is not valid text",
		"cafe\u0301":          "write \"café\"",
		"\u212bngstrom":       "write \"Ångström"[:8],
		".":                   "is a folder",
		"..":                  "is a folder",
		"mailer":              "",
		"café":                "",
		"東京 invoices/EU:2026": "",
		"…":                   "",
		"pending:eip155:1:0x00000000000000000000000000000000000000aa": "",
	} {
		if got := name.Fault(text); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("of %+q it says %q, want %q", text, got, want)
		}
	}
}

func TestShape(t *testing.T) {
	t.Parallel()
	for _, alike := range [][]string{
		{"mailer", "Mailer", "MAILER", "mailer ", "mаiler" /* а of Cyrillic */, "ｍailer", "mai1er", "mailer\u200b"},
		{"pay-roll", "pay_roll", "pay–roll", "Pay Roll"[:3] + "-roll"},
		{"o", "0", "О"},
	} {
		for _, text := range alike {
			if got, want := name.Shape(text), name.Shape(alike[0]); got != want {
				t.Errorf("%+q has the shape %q, want that of %q, which is %q", text, got, alike[0], want)
			}
		}
	}
	for _, differ := range [][2]string{{"mailer", "mailers"}, {"a1", "a2"}, {"café", "cafe"}, {"shard-1", "shard-7"}} {
		if name.Shape(differ[0]) == name.Shape(differ[1]) {
			t.Errorf("%q and %q have one shape", differ[0], differ[1])
		}
	}
}
