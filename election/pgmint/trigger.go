package pgmint

import (
	"io/fs"
	"regexp"
	"strings"
)

// TriggerSQL returns the statement, on one line, that restores a missing or disabled trigger of
// conch.leadership and does nothing else. It is empty for an unknown name.
func TriggerSQL(name string) string {
	text, err := fs.ReadFile(Migrations(), "0001_leadership.up.sql")
	if err != nil {
		return "" // impossible: the file is embedded
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
