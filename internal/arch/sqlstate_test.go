package arch

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// register is the page with a row for each SQLSTATE of conch.
const register = "docs/operations.md"

var sqlstate = regexp.MustCompile(`\bCN\d{3}\b`)

func sqlstateRules() []wall {
	raises := func(file_, code string) file {
		return file{file_, "RAISE EXCEPTION USING ERRCODE = '" + code + "';\n"}
	}
	known := func(codes ...string) file { return file{register, "| `" + strings.Join(codes, "` |\n| `") + "` |\n"} }
	return []wall{{
		name: "an SQLSTATE means one thing, and is written down", check: checkSQLStates,
		why: "a program can only tell the errors of conch apart by their SQLSTATE",
		breaches: []breach{
			{"not registered", sources(raises("election/pgmint/migrations/1.up.sql", "CN"+"007"), known("CN"+"001")), "migrations/1.up.sql:1 raises CN" + "007, which has no row"},
			{"two wings", sources(raises("election/pgmint/migrations/1.up.sql", "CN"+"001"), raises("pending/pgstore/migrations/1.up.sql", "CN"+"001"), known("CN"+"001")), "CN" + "001 is raised by election and by pending"},
			{"gone", sources(known("CN" + "009")), "nothing raises CN" + "009"},
		},
	}}
}

func checkSQLStates(h house) (complaints []string) {
	written, raised := map[string]bool{}, map[string]string{} // by code: its wing
	for _, f := range h.files {
		if f.path == register {
			for _, code := range sqlstate.FindAllString(f.text, -1) {
				written[code] = true
			}
		}
	}
	for _, f := range h.files {
		if path.Ext(f.path) != ".sql" || !strings.Contains(f.path, "/migrations/") {
			continue
		}
		wing, _, _ := strings.Cut(f.path, "/")
		line := 0
		for text := range strings.Lines(f.text) {
			line++
			if !strings.Contains(text, "ERRCODE") {
				continue
			}
			for _, code := range sqlstate.FindAllString(text, -1) {
				if !written[code] {
					complaints = append(complaints, fmt.Sprintf("%s:%d raises %s, which has no row in %s", f.path, line, code, register))
				}
				if by := raised[code]; by != "" && by != wing {
					complaints = append(complaints, fmt.Sprintf("%s is raised by %s and by %s", code, by, wing))
				}
				raised[code] = wing
			}
		}
	}
	for code := range written {
		if raised[code] == "" {
			complaints = append(complaints, "nothing raises "+code+", which has a row in "+register)
		}
	}
	return complaints
}
