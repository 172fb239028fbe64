package txlog

import (
	"errors"
	"strings"
	"testing"
)

// spender spends all that there is, and explains it.
type spender struct {
	State

	why func() string
}

func (s spender) Execute(_ []byte, budget *Budget) Outcome {
	budget.Explain(s.why)
	for {
		budget.Spend(1)
	}
}

func (s spender) Query(_ []byte, budget *Budget) ([]byte, error) {
	s.Execute(nil, budget)
	return nil, nil
}

// A state machine says where its steps have gone, and cannot take the kind of the fault away by what it says.
func TestABudgetIsExplained(t *testing.T) {
	t.Parallel()
	for want, why := range map[string]func() string{
		"too many steps: the goal takes more than 9; isa/2 was called 4 times": func() string { return "isa/2 was called 4 times" },
		"too many steps: the goal takes more than 9":                           func() string { return "" },
	} {
		o := RunWithin(spender{why: why}, nil, 9)
		if _, err := AskWithin(spender{why: why}, nil, 9); o.Fault != want || !errors.Is(FaultError(o.Fault), ErrBudget) || !errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), why()) {
			t.Errorf("%q, %v; want %q", o.Fault, err, want)
		}
	}
	if o := RunWithin(spender{why: func() string { panic("broken") }}, nil, 9); !errors.Is(FaultError(o.Fault), ErrBudget) {
		t.Errorf("a broken explanation: %q", o.Fault)
	}
	(*Budget)(nil).Explain(nil)
}
