package contracts

import (
	"cmp"
	"fmt"
	"reflect"

	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/sequencer/ledger"
)

// agreement has the facts about a contract.
type agreement struct {
	Agreed
	here        ledger.Contract // as it is configured; zero if no account says on which chain
	there       ledger.Contract // as the chain has it
	account     string          // why nothing can be signed with the account; empty: it can
	away        string          // why the chain does not answer; empty: it does
	other       string          // why the contract is another one, though it may say the same; empty: it is this one
	head, final uint64
}

const checkShared = "contracts"

// judge judges the contracts.
func judge(agreements []agreement) []doctor.Finding {
	if len(agreements) == 0 {
		return nil
	}
	return doctor.About(checkShared, judgeContracts(agreements)...)
}

func judgeContracts(agreements []agreement) (found []doctor.Finding) {
	for _, a := range agreements {
		if a.account != "" {
			found = append(found, doctor.Failure(fmt.Sprintf("contract %s: %s", a.Address, a.account), "correct contracts.account, or the member's address in contracts.accounts"))
		}
		if a.here.Address == "" {
			continue
		}
		if a.away != "" {
			found = append(found, doctor.Failure(fmt.Sprintf("contract %s: its chain does not answer: %s", a.Address, a.away), "check the url of its account's chain; until then the node waits"))
			continue
		}
		differs := differences(a.here, a.there)
		if a.there.Address == "" {
			differs = nil // it was not read
		}
		for _, d := range differs {
			found = append(found, doctor.Failure(fmt.Sprintf("contract %s: %s", a.Address, d), "write what the contract has, or the address of the one that was agreed on: a node takes no part in another one"))
		}
		if a.other != "" && len(differs) == 0 {
			found = append(found, doctor.Failure(fmt.Sprintf("contract %s: %s", a.Address, a.other), "do not use it: its rules may be others. Ask who deployed it for the right address"))
		}
		if w := a.here.Warning(); w != "" {
			found = append(found, doctor.Warning(fmt.Sprintf("contract %s: %s", a.Address, w), "deploy a contract that needs more than half of its members, unless all are one operator's"))
		}
	}
	if len(found) == 0 {
		for _, a := range agreements {
			found = append(found, doctor.Well(fmt.Sprintf("contract %s is the one that was agreed on; head %d, final %d", a.Address, a.head, a.final)))
		}
	}
	return found
}

// differences names each value in which the configuration and the contract differ, by its key.
func differences(here, there ledger.Contract) (all []string) {
	for _, v := range []struct {
		key         string
		here, there any
	}{
		{"members or accounts", here.Members, there.Members},
		{"committee", here.Committee, there.Committee},
		{"endorsement", here.Needed, there.Needed},
		{"range_size", here.Range, there.Range},
		{"depth", here.Depth, there.Depth},
		{"life", here.Life, there.Life},
		{"policy", cmp.Or(here.Policy, ledger.Policies()[0]), cmp.Or(there.Policy, ledger.Policies()[0])},
		{"domain or issuer", here.Domain, there.Domain},
		{"chain_id", here.Chain, there.Chain},
	} {
		if v.key == "committee" && len(all) > 0 {
			continue // its accounts are those of members, which differ
		}
		if !reflect.DeepEqual(v.here, v.there) {
			all = append(all, fmt.Sprintf("%s: the file says %v, and the contract %v", v.key, v.here, v.there))
		}
	}
	return all
}
