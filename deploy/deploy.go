// Package deploy contains the database grants of requirement S29, for programs that print
// or run them.
package deploy

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed grants.sql
var grants string

// Roles contains the names of the three database roles: Node for conch processes, Fence
// for programs that call conch.fence, Observer for read access.
type Roles struct{ Node, Fence, Observer string }

// Grants returns a script for psql that grants each role the privileges it needs, and no
// more. The owner of the schema runs it. The error names an invalid role name.
func (r Roles) Grants() (string, error) {
	var head strings.Builder
	for _, one := range []struct{ variable, name string }{{"node", r.Node}, {"fence", r.Fence}, {"observer", r.Observer}} {
		if one.name == "" || len(one.name) > 63 || strings.ContainsAny(one.name, "'\\\x00\n\r") {
			return "", fmt.Errorf("%q is no name of a role: it has to have 1 to 63 bytes, and no quotation mark, backslash or line break", one.name)
		}
		fmt.Fprintf(&head, "\\set %s '%s'\n", one.variable, one.name)
	}
	return head.String() + grants, nil
}
