// Package ontologies has the simulated log run goals in Prolog as well: conch-lab sim log --machine prolog. The machine is the one that ships, package
// [prolog]; the world, its faults and its judge are those of every log. Packages quorum and prolog are modules of their own, and neither needs the other.
//
// Sources: requirements B16 to B20, B22, V3 to V5.
package ontologies

import (
	"embed"
	"fmt"
	"strings"

	"github.com/conchhq/conch/txlog/prolog"
	"github.com/conchhq/conch/txlog/quorum/quorumtest"
)

//go:embed testdata/stories/*.txt
var stories embed.FS

// Machine is an ontology: what a key has is a fact, v(Key, Value).
var Machine = quorumtest.Machine{
	Name: "prolog", Genesis: prolog.Machine, New: prolog.New, Stories: stories,
	Put: func(key string, value int) []byte {
		return fmt.Appendf(nil, "retractall(v(%s, _)), assertz(v(%[1]s, %d))", atom(key), value)
	},
	Cas: func(key string, expected, value int) []byte {
		return fmt.Appendf(nil, "retract(v(%s, %d)), assertz(v(%[1]s, %d))", atom(key), expected, value)
	},
	Add: func(key string) []byte {
		return fmt.Appendf(nil, "(retract(v(%s, N)) -> true ; N = 0), M is N + 1, assertz(v(%[1]s, M))", atom(key))
	},
	Delete: func(key string) []byte { return fmt.Appendf(nil, "retract(v(%s, Old))", atom(key)) },
	Mail: func(client string, count int) []byte {
		return fmt.Appendf(nil, "effect(mail, to(%s, %d)), assertz(told(%[1]s))", client, count)
	},
	Get: func(key string) []byte {
		return fmt.Appendf(nil, `{"goal":"current_predicate(v/2), v(%s, Value)"}`, atom(key))
	},
}

func atom(key string) string { return "'" + strings.ReplaceAll(key, "'", "''") + "'" }

// Simulator is what runs logs: of keys and values, or of ontologies.
func Simulator() quorumtest.Log { return quorumtest.Simulator(Machine) }
