package standin

import (
	"context"
	"fmt"
)

// Death says how far a sender gets.
type Death int

// The deaths.
const (
	BeforeAssembly Death = iota // its intents are delegated, and it answers nothing any more
	AfterAssembly               // its attempts are on their way, and it grants none
)

// Bury starts a member's node, has it hand intents in, and stops it when it is about to say more than its death allows.
func (s *Site) Bury(ctx context.Context, name string, d Death, purses []string) error {
	n, err := s.Node(name, Options{Quiet: func(kind string) bool {
		return kind == "granted" || kind == "assembled" && d == BeforeAssembly
	}})
	if err != nil {
		return err
	}
	defer n.Stop()
	err = each(ctx, len(purses), func(ctx context.Context, i int) error {
		_, err := n.Submit(ctx, Address, fmt.Sprint("last words ", i), []byte(payment(purses[i])), 0)
		return err
	})
	if err != nil {
		return fmt.Errorf("the sender that is to die: %w", err)
	}
	select {
	case <-n.Silent():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the sender that is to die was never asked: %w", context.Cause(ctx))
	}
}
