package transactions

import (
	"net/http"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
)

const pathPolicies = "/v1/policies"

// getPolicies answers with the policies of all tokens, and what is left of their limits, to callers that see what all tokens do.
func (a *api) getPolicies(w http.ResponseWriter, r *http.Request) error {
	leave, err := place(a.lists)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := a.patient(r)
	defer cancel()
	if err := a.transactions.seesAll(ctx); err != nil {
		return err
	}
	out := struct {
		AsOf     time.Time     `json:"as_of"`
		Policies []policySpent `json:"policies"`
	}{time.Now().UTC(), []policySpent{}}
	if db := a.transactions.accounts.opened(); db != nil {
		all, err := db.Policies(ctx)
		if err != nil {
			return err
		}
		for _, p := range all {
			out.Policies = append(out.Policies, spentOf(p))
		}
	}
	return web.Answer(w, http.StatusOK, out)
}
