//go:build unix

package lab

import (
	"context"
	"errors"
	"testing"
)

// A plan that was cut short is no plan that was carried out, and what it has shown comes first.
func TestAPlanIsCutShort(t *testing.T) {
	t.Parallel()
	over, end := context.WithCancel(t.Context())
	end()
	violated := errors.New("2 violations")
	if err := cutShort(t.Context(), nil, "again"); err != nil {
		t.Errorf("a whole plan ends with %v", err)
	}
	if err := cutShort(over, nil, "again"); err == nil {
		t.Error("a plan that was cut short ends with nothing to say")
	}
	if err := cutShort(over, violated, "again"); !errors.Is(err, violated) {
		t.Errorf("violations are told as %v", err)
	}
}
