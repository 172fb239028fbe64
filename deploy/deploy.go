// Package deploy has the files of this folder that a program needs: the grants of
// requirement S29.
package deploy

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed grants.sql
var grants string

// Roles are the names of the three roles that grants are for.
type Roles struct{ Node, Fence, Observer string }

// Grants is a script for psql that gives the roles what they need, and no more. It is run
// by the owner of the schema. An error says that a name cannot be one of a role.
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
