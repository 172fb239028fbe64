package pgmint

import (
	"io/fs"
	"strings"

	"github.com/conchhq/conch/internal/pattern"
)

// TriggerSQL returns the statement, on one line, that restores a missing or disabled trigger of
// the schema and does nothing else. It is empty for an unknown name.
func TriggerSQL(name string) (sql string) {
	names, _ := fs.Glob(Tables.Files, "*.up.sql") // in order; the files are embedded
	for _, file := range names {
		text, _ := fs.ReadFile(Tables.Files, file)
		for _, f := range triggerText().FindAllStringSubmatch(string(text), -1) {
			if f[1] == name {
				sql = "CREATE OR REPLACE TRIGGER " + strings.Join(strings.Fields(f[1]+f[2]), " ")
			}
		}
	}
	return sql
}

var triggerText = pattern.Of(`(?m)^CREATE (?:OR REPLACE )?TRIGGER (\w+)([^;]*;)`)
