package schedule

import (
	"log/slog"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/schedule"
)

// complain logs that crons do not run, or jobs are not taken or ended, since the database does not do what it is asked to, and later that
// it does. It says who holds a lock.
func (s *service) complain(t schedule.Trouble) {
	log := s.frame.Log.With(slog.String("scope", t.Scope), slog.String("what", t.What))
	if t.Why == nil {
		log.Warn("the database does again what it is asked to")
		return
	}
	s.frame.Go(func() {
		err := pg.Locked(s.frame.Over, s.frame.Database.Connection(" crons"), t.Why)
		log.Error("CRONS OR JOBS WAIT: the database does not do what it is asked to, and is asked again", slog.String("error", pgmint.Sentence(err)))
	})
}
