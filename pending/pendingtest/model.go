package pendingtest

import "github.com/conchhq/conch/pending/internal/wearmodel"

// Rule is a rule of what wears out, and of accounts that begin anew, which [Model] can do without.
type Rule = wearmodel.Rule

// Result is what came of a world of the model.
type Result = wearmodel.Result

// Rules returns the rules of the model.
func Rules() []Rule { return wearmodel.Rules() }

// Model visits all states of all worlds of the model (conch-lab sim pending), without the rule of a name; with an empty one it has all. The
// error says that there is no such rule.
func Model(without string) ([]Result, error) { return wearmodel.Try(without) }
