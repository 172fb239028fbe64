package substrate

import (
	"math/big"

	"github.com/conchhq/conch/chain/substrate/internal/rules"
	"github.com/conchhq/conch/chain/substrate/metadata"
)

// transferOf returns what a call gives away and keeps no deposit for, also within those of Utility.
func (rt *chainRuntime) transferOf(raw []byte) (t rules.Transfer, err error) {
	if len(raw) < 2 {
		return t, nil
	}
	call, err := rt.CallAt([2]byte(raw))
	if err != nil || call.Pallet != "Balances" && call.Pallet != "Utility" {
		return t, err
	}
	args, err := rt.Arguments(call, raw[2:])
	if err == nil {
		t.Amount = new(big.Int)
		err = addTransfers(&t, metadata.Variant{Name: call.Pallet, Value: metadata.Variant{Name: call.Name, Value: args}})
	}
	return t, err
}

// addTransfers adds what the calls in a decoded value give away.
func addTransfers(t *rules.Transfer, v any) error {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if err := addTransfers(t, one); err != nil {
				return err
			}
		}
	case metadata.Fields:
		for _, f := range v {
			if err := addTransfers(t, f.Value); err != nil {
				return err
			}
		}
	case metadata.Variant:
		call, is := v.Value.(metadata.Variant)
		if v.Name != "Balances" || !is {
			return addTransfers(t, v.Value)
		}
		args, _ := call.Value.(metadata.Fields)
		switch call.Name {
		case "transfer_all":
			keep, _ := args.Get("keep_alive").(bool)
			t.All = t.All || !keep
		case "transfer_allow_death", "transfer":
			amount, err := toNumber(args.Get("value"))
			if err != nil {
				return err
			}
			t.Amount.Add(t.Amount, amount)
		}
	}
	return nil
}
