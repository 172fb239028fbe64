package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits of a server. Event streams, drains and files move their own deadlines: over
// HTTP/2 a deadline that passes ends a request even if nobody reads or writes just then,
// so none may stand while something else is waited for.
const (
	ReadTimeout       = 15 * time.Second // for a request and its body
	WriteTimeout      = 30 * time.Second // for an answer
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeader         = 16 << 10
	grace             = 10 * time.Second // for requests under way when the server ends
)

// Serve answers on a listener until ctx ends, then ends the event streams, lets
// other requests finish for a moment and closes the listener. It returns nil when
// it ended because it was told to.
func (s *Site) Serve(ctx context.Context, ln net.Listener, h http.Handler) error {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       ReadTimeout,
		WriteTimeout:      WriteTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		// Failed handshakes and the like: whoever knocks at a port could fill the log.
		ErrorLog: slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.end()
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := srv.Shutdown(patience)
	if err != nil {
		err = errors.Join(err, srv.Close())
	}
	if why := <-ended; !errors.Is(why, http.ErrServerClosed) {
		err = errors.Join(err, why)
	}
	return err
}
