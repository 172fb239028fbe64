//go:build unix

package stage

import (
	"context"
	"errors"
	"fmt"

	"github.com/conchhq/conch/cmd/conch/internal/lab/devnode"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// Site is what an experiment stands on. The zero value has nothing.
type Site struct {
	Clearing

	Postgres *postmaster.Server // nil: there is none
	Chain    *devnode.Node      // nil: there is none
}

// StartPostgres starts a private server.
func (s *Site) StartPostgres(ctx context.Context, cfg postmaster.Config) (err error) {
	if s.Postgres, err = postmaster.Start(ctx, cfg); err == nil {
		s.Afterwards(s.Postgres.Stop)
	}
	return err
}

// StartChain starts a private chain.
func (s *Site) StartChain(ctx context.Context, program string, args ...string) (err error) {
	if s.Chain, err = devnode.Start(ctx, program, args...); err == nil {
		s.Afterwards(func() error { s.Chain.Stop(); return nil })
	}
	return err
}

// Fallen returns an error if a server has ended by itself.
func (s *Site) Fallen() error {
	if s.Postgres != nil && ended(s.Postgres.Gone()) {
		return errors.New("the private Postgres ended unexpectedly")
	}
	if s.Chain != nil && ended(s.Chain.Gone()) {
		return fmt.Errorf("the private chain ended unexpectedly: %s", s.Chain.LastWords())
	}
	return nil
}

func ended(gone <-chan struct{}) bool {
	select {
	case <-gone:
		return true
	default:
		return false
	}
}
