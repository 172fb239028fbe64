package prolog

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"github.com/conchhq/conch/txlog"
)

// rootOntology is of the shape of the root ontology of BBSvx, which is not here: a rule that calls itself first stands before the facts.
const rootOntology = `
ontology(root).
isa(thing, thing).
isa(Child, Ancestor) :-
    isa(Child, Father),
    isa(Father, Ancestor),
    Child \= Father,
    Father \= Ancestor.
isa(seen, thing).
isa(animal, seen).
isa(rabbit, animal).
instance_of(rabbit, flopsy).
attribute(flopsy, position, vec3(-5, 0, 1.5)).
`

// An ontology that BBSvx has loaded by asserta/1 is loaded by --reverse, and answers; what never ends there ends here, with a fault that names the
// predicate (B22, V3). CONCH_ROOT_ONTOLOGY names the file of BBSvx, priv/ontologies/bbsvx_root.pl, which is taken instead of ours.
func TestTheRootOntology(t *testing.T) {
	t.Parallel()
	text := rootOntology
	if file := os.Getenv("CONCH_ROOT_ONTOLOGY"); file != "" {
		read, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = string(read)
	}
	const endless = "too many steps: the goal takes more than 1048576; isa/2 was called "
	s := loaded(t, "")
	load(t, s, text, true)
	for goal, want := range map[string]string{
		"isa(rabbit, X)": `{"bindings":{"X":"animal"}}`,
		"isa(animal, thing), instance_of(rabbit, _N), attribute(_N, position, vec3(-5, Y, _Z))": `{"bindings":{"Y":"0"}}`,
		"ontology(X)":        `{"bindings":{"X":"root"}}`,
		"isa(rabbit, plant)": endless,
	} {
		if o := do(t, s, goal); !strings.HasPrefix(cmp.Or(o.Fault, string(o.Result)), want) {
			t.Errorf("%s: %s, want %s", goal, says(o), want)
		}
	}
	if _, err := txlog.Ask(s.View(), []byte(`{"goal":"isa(rabbit, plant)"}`)); err == nil || !strings.Contains(err.Error(), "; isa/2 was called ") {
		t.Errorf("a query that never ends: %v", err)
	}
	load(t, s, text, false)
	if o := do(t, s, "isa(rabbit, X)"); !strings.HasPrefix(o.Fault, endless) {
		t.Errorf("in the order of the file: %s", says(o))
	}
}
