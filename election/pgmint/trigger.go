package pgmint

import (
	"io/fs"
	"regexp"
	"strings"
)

// TriggerSQL is the statement that puts a trigger of conch.leadership back, missing or
// disabled, and does nothing else: the migration's own, on one line. It is empty for
// a name that no trigger has.
func TriggerSQL(name string) string {
	text, err := fs.ReadFile(Migrations(), "0001_leadership.up.sql")
	if err != nil {
		return "" // not possible: it is embedded
	}
	found := triggerText.FindAllStringSubmatch(string(text), -1)
	for _, f := range found {
		if f[1] == name {
			return "CREATE OR REPLACE TRIGGER " + strings.Join(strings.Fields(f[1]+f[2]), " ")
		}
	}
	return ""
}

var triggerText = regexp.MustCompile(`(?m)^CREATE (?:OR REPLACE )?TRIGGER (\w+)([^;]*;)`)
